// SPDX-License-Identifier: GPL-2.0
// apply, save, diff.
#include "apply.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

Exit apply(Call &call)
{
	Config config = read_config(call.host);
	bool exports = call.has("exports") || !call.has("devices");
	bool devices = call.has("devices") || !call.has("exports");
	if (!call.arguments.empty() && (call.has("exports") || call.has("devices")))
		throw Failure(Exit::Usage, "apply: name devices, or a kind of objects, not both");
	std::vector<std::string> names;
	for (const DeviceConfig &device : config.devices)
		names.push_back(device.name);
	std::vector<const DeviceConfig *> chosen;
	std::vector<Json> rows;
	auto report = [&](const std::string &object, const std::string &name,
			  const std::string &result) {
		Json row;
		row["object"] = object;
		row["name"] = name;
		row["result"] = result;
		rows.push_back(row);
	};
	for (const std::string &name : call.arguments) {
		if (!config.device(name))
			throw Failure(Exit::NotFound, fmt::format("no device '{}' is configured{}",
								  name, did_you_mean(name, names)));
		chosen.push_back(config.device(name));
	}
	if (call.arguments.empty() && devices)
		for (const DeviceConfig &device : config.devices)
			chosen.push_back(&device);
	std::size_t count = chosen.size();
	if (call.arguments.empty() && exports)
		count += config.exports.size();
	Exit code = call.each(count, [&](std::size_t i) {
		bool device = i < chosen.size();
		std::string name =
		    device ? chosen[i]->name : config.exports[i - chosen.size()].request.name;
		const char *object = device ? "device" : "export";
		try {
			report(object, name,
			       device ? apply_device(call, config, *chosen[i])
				      : apply_export(call, config.exports[i - chosen.size()]));
		} catch (const Failure &failure) {
			report(object, name, "failed");
			throw Failure(failure.code(),
				      fmt::format("{} {}: {}", object, name, failure.what()),
				      failure.hint());
		}
	});
	if (call.dry_run)
		return code;
	if (call.style.format == Format::Table) {
		for (const Json &row : rows)
			call.out << fmt::format("{} {}: {}\n", row["object"].get<std::string>(),
						row["name"].get<std::string>(),
						row["result"].get<std::string>());
		return code;
	}
	print_rows(call.out, *call.command.kind, rows, call.style);
	return code;
}

Exit diff(Call &call)
{
	std::vector<Difference> found =
	    find_differences(call.host, read_config(call.host), !call.has("missing-only"));
	print_rows(call.out, kDifferenceKind, to_rows(found), call.style);
	return found.empty() ? Exit::Done : Exit::Differs;
}

Exit save(Call &call)
{
	Config known;
	// A configuration with mistakes must not keep one from saving what runs.
	try {
		known = read_config(call.host);
	} catch (const Failure &failure) {
		call.report(failure);
	}
	std::string text = saved_config(call.host, known);
	if (!call.has("file")) {
		call.out << text;
		return Exit::Done;
	}
	std::string file = call.value("file");
	if (call.host.exists(file) && !call.has("force"))
		throw Failure(Exit::Exists, fmt::format("{} exists", file),
			      "give --force to replace it");
	if (int error = call.host.replace_file(file, text))
		throw Failure(exit_of(error), fmt::format("cannot write {}: {}", file,
							  words_of(error, Action::Configure)));
	return Exit::Done;
}

} // namespace

std::vector<Command> config_commands()
{
	return {
	    {"apply",
	     "map and export what is configured",
	     "Reads /etc/rnbd/rnbd.conf and /etc/rnbd/rnbd.conf.d/*.conf (rnbd.conf(5)) and brings "
	     "about "
	     "what is missing: sessions with their paths and settings, devices, exports. What runs "
	     "as it "
	     "should is left alone, so it may be called again at any time. Nothing is removed. A "
	     "line "
	     "for each object says what happened to it.\n\n"
	     "Nothing at all is done if the configuration has a mistake.",
	     {{"NAME", "a device of the configuration; all, and the exports, if not given",
	       "mapping", false, true}},
	     {{"devices", 0, "", "devices only"}, {"exports", 0, "", "exports only"}},
	     {{"rnbdadm apply", ""}, {"rnbdadm apply vm1 --dry-run", ""}},
	     &kOutcomeKind,
	     apply},
	    {"diff",
	     "show where what runs differs from what is configured",
	     "Compares sessions with their paths and settings, devices and exports. Prints a line "
	     "for "
	     "each difference; nothing, if there is none. What the configuration leaves to the "
	     "module "
	     "is no difference. Exits with 12 if there is one.",
	     {},
	     {{"missing-only", 0, "", "leave out what runs and is not configured"}},
	     {{"rnbdadm diff", ""}},
	     &kDifferenceKind,
	     diff},
	    {"save",
	     "print what runs as a configuration",
	     "Sessions with their paths and settings, devices and exports, in the format of "
	     "rnbd.conf(5). A device that was mapped from a configuration keeps its name. The "
	     "port of a session's server is not known to the kernel; it is taken from the present "
	     "configuration if that has the session.",
	     {},
	     {{"file", 0, "FILE", "write it to FILE", "file"},
	      {"force", 'f', "", "replace a FILE that exists"}},
	     {{"rnbdadm save --file /etc/rnbd/rnbd.conf", ""}},
	     nullptr,
	     save},
	};
}

} // namespace rnbdadm
