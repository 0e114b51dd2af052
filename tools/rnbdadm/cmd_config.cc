// SPDX-License-Identifier: GPL-2.0
// apply, check, diff, save.
#include "apply.hh"
#include "config_edit.hh"
#include "disk_users.hh"
#include "keys.hh"
#include "text.hh"

#include <algorithm>
#include <array>
#include <ostream>
#include <set>

#include <fmt/format.h>

namespace rnbdadm {

void print_outcomes(Call &call, const std::vector<Json> &rows)
{
	if (call.style.format != Format::Table)
		return print_rows(call.out, kOutcomeKind, rows, call.style);
	for (const Json &row : rows)
		call.out << printable(fmt::format("{} {}: {}\n", row["object"].get<std::string>(),
						  row["name"].get<std::string>(),
						  row["result"].get<std::string>()));
}

namespace {

std::string count_of(std::size_t n, const char *what)
{
	return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// A device or an export; neither if its section has a mistake.
struct Object {
	const char *kind;
	std::string name;
	const DeviceConfig *device = nullptr;
	const ExportConfig *exported = nullptr;
	const NameListConfig *names = nullptr;
};

// What an apply is about, and what the configuration says wrong about it.
struct Plan {
	std::vector<Object> objects;
	std::vector<Mistake> mistakes;
};

Plan plan_of_names(const Config &config, const std::vector<std::string> &names)
{
	std::vector<std::string> known;
	for (const DeviceConfig &device : config.devices)
		known.push_back(device.name);
	Plan plan;
	for (const std::string &name : names) {
		const DeviceConfig *device = config.device(name);
		if (!device && !config.faulty("device", name))
			throw Failure(Exit::NotFound, fmt::format("no device '{}' is configured{}",
								  name, did_you_mean(name, known)));
		if (device)
			plan.objects.push_back({"device", name, device});
		for (const Mistake &m : config.mistakes)
			if (m.kind == "device" && m.name == name)
				plan.mistakes.push_back(m);
	}
	return plan;
}

Plan plan_of_all(const Config &config, bool devices, bool exports)
{
	Plan plan;
	if (devices)
		for (const DeviceConfig &device : config.devices)
			plan.objects.push_back({"device", device.name, &device});
	// Names before what they open.
	if (exports)
		for (const NameListConfig &n : config.name_lists)
			plan.objects.push_back({"key", n.list.key, nullptr, nullptr, &n});
	if (exports)
		for (const ExportConfig &e : config.exports)
			plan.objects.push_back({"export", e.request.name, nullptr, &e});
	for (const Mistake &m : config.mistakes)
		if (m.kind == "export" || m.kind == "key"
			? exports
			: devices || (m.kind != "device" && m.kind != "session"))
			plan.mistakes.push_back(m);
	return plan;
}

// Without the paths that start where this machine has no address, if that leaves any.
void leave_out_absent(const Host &host, std::vector<std::string> &paths)
{
	const std::vector<NetAddress> addresses = host.addresses();
	std::vector<std::string> present;
	for (const std::string &path : paths) {
		const std::string source = path.substr(0, path.find('@'));
		if (source == path || source.starts_with("gid:") ||
		    std::any_of(addresses.begin(), addresses.end(), [&](const NetAddress &a) {
			    return comparable_path(a.address) == comparable_path(source);
		    }))
			present.push_back(path);
	}
	if (!present.empty())
		paths = present;
}

Exit apply(Call &call)
{
	const bool pruned = call.has(opt::kPrune);
	// What another process maps at this moment may be configured a moment later.
	const std::unique_ptr<FileLock> lock = pruned ? lock_config(call) : nullptr;
	Config config = read_config(call.host);
	if (call.has(opt::kPresentPaths)) {
		for (SessionConfig &session : config.sessions)
			leave_out_absent(call.host, session.paths);
		for (DeviceConfig &device : config.devices)
			leave_out_absent(call.host, device.request.paths);
	}
	if (!pruned && (call.has(opt::kForce) || call.has(opt::kOthersToo)))
		throw Failure(Exit::Usage, "apply: --force and --others-too go with --prune");
	if (!call.arguments.empty() && pruned)
		throw Failure(Exit::Usage, "apply: name devices, or give --prune, not both");
	if (!call.arguments.empty() && (call.has(opt::kExports) || call.has(opt::kDevices)))
		throw Failure(Exit::Usage, "apply: name devices, or a kind of objects, not both");
	const bool devices = call.has(opt::kDevices) || !call.has(opt::kExports);
	const bool exports = call.has(opt::kExports) || !call.has(opt::kDevices);
	const Plan plan = call.arguments.empty() ? plan_of_all(config, devices, exports)
						 : plan_of_names(config, call.arguments);
	if (pruned)
		check_for_prune(call.host, config);
	std::vector<Json> rows;
	std::set<std::array<std::string, 3>> reported;
	auto report = [&](const std::string &kind, const std::string &name,
			  const std::string &result) {
		if (!reported.insert({kind, name, result}).second)
			return;
		Json row;
		row["object"] = kind;
		row["name"] = name;
		row["result"] = result;
		rows.push_back(row);
	};
	std::vector<std::string> lines;
	for (const Mistake &m : plan.mistakes) {
		lines.push_back(m.line());
		if ((m.kind == "device" || m.kind == "export" || m.kind == "key") &&
		    !m.name.empty())
			report(m.kind, m.name, "faulty");
	}
	if (!lines.empty())
		call.report(failure_of(lines, "the configuration"));
	std::string unbound; // key whose list of names could not be set
	Exit code = call.each(plan.objects.size(), [&](std::size_t i) {
		const Object &o = plan.objects[i];
		try {
			if (o.exported && !o.exported->request.clients.empty() && !unbound.empty())
				throw Failure(Exit::Failed,
					      fmt::format("its clients may be those of key {}, "
							  "whose list could not be set",
							  unbound));
			report(o.kind, o.name,
			       o.device	 ? apply_device(call, config, *o.device)
			       : o.names ? set_name_list(call, o.names->list)
					 : apply_export(call, *o.exported));
		} catch (const Failure &failure) {
			report(o.kind, o.name, "failed");
			if (o.names)
				unbound = o.name;
			throw Failure(failure.code(),
				      fmt::format("{} {}: {}", o.kind, o.name, failure.what()),
				      failure.hint());
		}
	});
	// Looked for now: until now the number of a disk may have become another one's.
	const Extra extra = pruned ? find_extra(call, config, devices, exports) : Extra();
	// What has failed may be what shall be there in its place.
	if (code != Exit::Done && extra.size())
		call.terminal.err << "nothing is pruned, as not all could be applied\n";
	else if (code == Exit::Done)
		code = prune(call, extra, report);
	if (code != Exit::Done && pruned && plan.objects.size() + extra.size() > 1)
		code = Exit::Partial;
	if (!lines.empty())
		code = plan.objects.empty() ? Exit::Config
		       : code == Exit::Done ? Exit::Mistakes
					    : Exit::Partial;
	if (plan.objects.empty() && lines.empty())
		call.terminal.err << fmt::format(
		    "nothing of that kind is configured in {} and {}\n", kConfigFile,
		    kConfigFolder);
	if (!call.dry_run)
		print_outcomes(call, rows);
	return code;
}

Exit check(Call &call)
{
	for (const std::string &file : call.arguments)
		if (!call.host.exists(file))
			throw Failure(Exit::NotFound, fmt::format("there is no file {}", file));
	const Config config = call.arguments.empty() ? read_config(call.host)
						     : read_config(call.host, call.arguments);
	std::vector<Json> rows;
	for (const Mistake &m : config.mistakes) {
		const Place place = parse_place(m.place);
		Json row;
		row["file"] = place.file;
		row["line"] = place.line ? Json(*place.line) : Json();
		row["section"] = m.kind.empty() ? Json() : Json(trim(m.kind + " " + m.name));
		row["text"] = m.text;
		rows.push_back(row);
	}
	if (call.style.format != Format::Table || !call.style.columns.empty())
		print_rows(call.out, kMistakeKind, rows, call.style);
	else if (rows.empty())
		call.out << fmt::format(
		    "no mistake: {}, {}, {}{}\n", count_of(config.sessions.size(), "session"),
		    count_of(config.devices.size(), "device"),
		    count_of(config.exports.size(), "export"),
		    config.name_lists.empty()
			? ""
			: ", " + count_of(config.name_lists.size(), "list of a key"));
	else
		for (const Mistake &m : config.mistakes)
			call.out << printable(m.line()) << '\n';
	// No mistake of the file: it may end before the export is made.
	const DiskUsers disk_users(call.host);
	for (const ExportConfig &e : config.exports)
		if (const std::string users = unwanted_users(disk_users, e.request); !users.empty())
			call.terminal.err << printable(
			    fmt::format("export {} cannot be made now: this machine uses {}: {}\n",
					e.request.name, e.request.device_path, users));
	// Nor is this: a key may come later, as a disk may.
	auto warn = [&](const std::string &object, const std::string &text) {
		call.terminal.err << printable(fmt::format("{}: {}\n", object, text));
	};
	for (const ExportConfig &e : config.exports) {
		const std::string object = "export " + e.request.name;
		if (!may_be_exported(call.host, e.request.device_path))
			warn(object, e.request.device_path + " is no block device");
		for (const auto &[what, advice] : missing_keys(call.host, e.request.keys))
			warn(object, what + ": " + advice);
	}
	for (const SessionConfig &s : config.sessions)
		if (!s.key.empty())
			for (const auto &[what, advice] : missing_keys(call.host, {s.key}))
				warn("session " + s.name, what + ": " + advice);
	return rows.empty() ? Exit::Done : Exit::Config;
}

// Mistakes of the whole configuration, said beside what is done without them.
bool report_mistakes(Call &call, const Config &config)
{
	std::vector<std::string> lines;
	for (const Mistake &m : config.mistakes)
		lines.push_back(m.line());
	if (!lines.empty())
		call.report(failure_of(lines, "the configuration"));
	return !lines.empty();
}

Exit diff(Call &call)
{
	const Config config = read_config(call.host);
	const bool mistakes = report_mistakes(call, config);
	std::vector<Difference> found =
	    find_differences(call.host, config, !call.has(opt::kMissingOnly));
	print_rows(call.out, kDifferenceKind, to_rows(found), call.style);
	if (mistakes)
		return Exit::Mistakes;
	return found.empty() ? Exit::Done : Exit::Differs;
}

Exit save(Call &call)
{
	// What is not loaded must not be saved as if nothing ran.
	need_modules(call.host);
	// A configuration with mistakes must not keep one from saving what runs.
	const Config known = read_config(call.host);
	report_mistakes(call, known);
	std::string text = saved_config(call.host, known);
	if (!call.has(opt::kFile)) {
		call.out << text;
		return Exit::Done;
	}
	std::string file = call.value(opt::kFile);
	if (call.host.exists(file) && !call.has(opt::kForce))
		throw Failure(Exit::Exists, fmt::format("{} exists", file),
			      "give --force to replace it");
	FileDraft draft(call.host, file, text);
	if (const int error = draft.commit())
		throw unwritable(file, error);
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
	     "what is missing: sessions with their paths and settings, devices, names of keys, "
	     "exports. What runs "
	     "as it "
	     "should is left alone, so it may be called again at any time. Nothing is removed "
	     "without --prune. A "
	     "line "
	     "for each object says what happened to it.\n\n"
	     "--prune then ends what runs and is not configured: disks that this program has "
	     "mapped, and exports; lists of keys stay. What is in use stays as with 'rnbdadm "
	     "unmap', and is reported. Nothing ends if something could not be applied. If the "
	     "configuration has a mistake, or is not there, nothing is done at all, and the exit "
	     "code is 11. --dry-run says what would end.\n\n"
	     "A mistake in the configuration is reported with its file and line, and costs what is "
	     "described in its section; all else is done, and the exit code is 13. It is 11 if "
	     "nothing is left to do, or if a NAME is what has the mistake.",
	     {{"NAME", "a device of the configuration; all, and the exports, if not given",
	       "mapping", false, true}},
	     {{opt::kDevices, "devices only"},
	      {opt::kExports, "exports, and names of keys, only"},
	      {opt::kPresentPaths,
	       "leave out paths from addresses that this machine does not have, as in an "
	       "initramfs"},
	      {opt::kPrune, "afterwards unmap and remove what runs and is not configured"},
	      {opt::kForce, "with --prune: also what is in use; its I/O fails"},
	      {opt::kOthersToo,
	       "with --prune: also disks that others than this program have mapped"}},
	     {{"rnbdadm apply", ""},
	      {"rnbdadm apply vm1 --dry-run", ""},
	      {"rnbdadm apply --prune --dry-run", "what is there and should not be"}},
	     &kOutcomeKind,
	     apply},
	    {"check",
	     "read the configuration and say what is wrong in it",
	     "A line for each mistake: its file and line, and what is wrong. Nothing is done, and "
	     "nothing that runs is looked at. Exits with 11 if there is a mistake.",
	     {{"FILE", "read this instead, such as a draft", "file", false, true}},
	     {},
	     {{"rnbdadm check", ""}, {"rnbdadm check ./rnbd.conf.new", ""}},
	     &kMistakeKind,
	     check},
	    {"diff",
	     "show where what runs differs from what is configured",
	     "Compares sessions with their paths and settings, devices and exports. Prints a line "
	     "for "
	     "each difference; nothing, if there is none. What the configuration leaves to the "
	     "module "
	     "is no difference. Exits with 12 if there is one, with 13 if the configuration has "
	     "mistakes, which say what could not be compared.",
	     {},
	     {{opt::kMissingOnly, "leave out what runs and is not configured"}},
	     {{"rnbdadm diff", ""}},
	     &kDifferenceKind,
	     diff},
	    {"save",
	     "print what runs as a configuration",
	     "Sessions with their paths and settings, devices and exports, in the format of "
	     "rnbd.conf(5). A device that was mapped from a configuration keeps its name. Modules "
	     "of the kernel do not tell the port of a session's server; it is taken from the "
	     "present configuration if that has the session.",
	     {},
	     {{opt::kFile, "write it to FILE"}, {opt::kForce, "replace a FILE that exists"}},
	     {{"rnbdadm save --file /etc/rnbd/rnbd.conf", ""}},
	     nullptr,
	     save,
	     false,
	     ""},
	};
}

} // namespace rnbdadm
