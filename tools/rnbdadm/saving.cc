// SPDX-License-Identifier: GPL-2.0
// Disks and exports that are brought about, or ended, and in the configuration as well.
#include "saving.hh"

#include "apply.hh"
#include "names.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// What the command line says of a new session; the rest is for [defaults] and the module.
std::string section_of_new_session(const Call &call, const MapRequest &asked)
{
	std::string text = fmt::format("[session {}]\n", asked.session);
	for (const std::string &path : call.values(opt::kPath))
		text += fmt::format("path = {}\n", path);
	if (call.has(opt::kPort))
		text += fmt::format("port = {}\n", asked.port);
	if (!asked.auth.empty())
		text += fmt::format("auth = {}\n", asked.auth);
	if (!asked.key.empty())
		text += fmt::format("key = {}\n", asked.key);
	for (const Setting &setting : session_settings())
		if (const auto value = asked.settings.find(setting.name);
		    value != asked.settings.end())
			text += fmt::format("{} = {}\n", setting.name, value->second);
	return text;
}

// Likewise of a device.
std::string section_of_new_device(const Call &call, const MapRequest &asked,
				  const std::string &name)
{
	std::string text = fmt::format("[device {}]\nsession = {}\ndevice = {}\n", name,
				       asked.session, asked.device_path);
	// Of an export that is read-only map --all asks for no more.
	if (call.has(opt::kAccess) || asked.access != MapRequest().access)
		text += fmt::format("access = {}\n", asked.access);
	if (call.has(opt::kPollQueues))
		text += fmt::format("poll-queues = {}\n", asked.poll_queues);
	if (asked.no_path_timeout)
		text += fmt::format("no-path-timeout = {}\n", *asked.no_path_timeout);
	return text;
}

// The device of the configuration that this is, now if not before. `there` is the disk if it is
// mapped.
const DeviceConfig &put_device(ConfigEdit &edit, const Call &call, const MapRequest &asked,
			       const std::optional<Device> &there)
{
	const std::string &session = asked.session;
	if (const DeviceConfig *device = edit.config().mapping(session, asked.device_path))
		return *device;
	if (!edit.config().session(session)) {
		const std::optional<Session> running = running_session(call.host, session);
		if (!running && asked.paths.empty())
			throw needs_a_path(session);
		edit.add("session", session,
			 running ? section_of(call.host, *running, nullptr)
				 : section_of_new_session(call, asked));
	}
	std::map<std::string, int> taken;
	for (const DeviceConfig &device : edit.config().devices)
		taken[device.name]++;
	Device device;
	device.device_path = asked.device_path;
	const std::string name = name_for(there ? *there : device, taken);
	edit.add("device", name,
		 there ? section_of(*there, name) : section_of_new_device(call, asked, name));
	const DeviceConfig *added = edit.config().mapping(session, asked.device_path);
	if (!added)
		throw Failure(Exit::Usage, fmt::format("{} cannot be saved in {}: it would read "
						       "the name otherwise",
						       asked.device_path, kConfigFile));
	return *added;
}

// All that a path may stand for, in a form in which two can be compared; a name that nobody knows
// is itself.
std::vector<std::string> meanings(const Host &host, const std::string &path)
{
	std::vector<std::string> all;
	try {
		for (const std::string &candidate : path_candidates(host, path))
			all.push_back(comparable_path(candidate));
	} catch (const Failure &) {
		all.push_back(path);
	}
	return all;
}

// Whether a session has the path that a word of the command line means.
bool is_configured(const Host &host, const SessionConfig &session, const std::string &word)
{
	const std::vector<std::string> wanted = meanings(host, path_word(word));
	return std::any_of(
	    session.paths.begin(), session.paths.end(), [&](const std::string &path) {
		    const std::vector<std::string> have = meanings(host, path);
		    return std::find_first_of(have.begin(), have.end(), wanted.begin(),
					      wanted.end()) != have.end();
	    });
}

// Failure (Exists) if the configuration, as it was `before` or would be with what runs, has it
// otherwise than the command line says: it would come back as another one.
void compare(const Call &call, const MapRequest &asked, const DeviceConfig &device,
	     const SessionConfig &session, const Config &before)
{
	const MapRequest &wanted = device.request;
	auto differ = [&](const std::string &object, const std::string &place,
			  const std::string &key, const std::string &have,
			  const std::string &want) {
		throw Failure(Exit::Exists,
			      fmt::format("{}: {} has {} {}, and {} is asked for", place, object,
					  key, have.empty() ? "not given" : have, want),
			      "what is configured or runs is not changed by this: change it there, "
			      "or leave the option out");
	};
	const std::string runs = "as it runs";
	const bool session_was_there = before.session(session.name);
	const std::string of_session_at = session_was_there ? session.place : runs;
	const std::string of_device_at = before.device(device.name) ? device.place : runs;
	auto of_device = [&](const OptionKey &option, const std::string &have,
			     const std::string &want) {
		if (call.has(option) && have != want)
			differ("device " + device.name, of_device_at, option.name, have, want);
	};
	auto of_session = [&](const OptionKey &option, const std::string &have,
			      const std::string &want) {
		if (call.has(option) && have != want)
			differ("session " + session.name, of_session_at, option.name, have, want);
	};
	of_device(opt::kAccess, wanted.access, asked.access);
	of_device(opt::kPollQueues, std::to_string(wanted.poll_queues),
		  std::to_string(asked.poll_queues));
	of_device(opt::kNoPathTimeout, std::to_string(wanted.no_path_timeout.value_or(0)),
		  std::to_string(asked.no_path_timeout.value_or(0)));
	of_session(opt::kPort, std::to_string(session.port), std::to_string(asked.port));
	of_session(opt::kAuth, wanted_auth(session.auth, session.key),
		   wanted_auth(asked.auth, asked.key));
	of_session(opt::kKey, session.key, asked.key);
	for (const auto &[name, value] : asked.settings) {
		const auto have = session.settings.find(name);
		of_session(option_of(*find_setting(name)),
			   have == session.settings.end() ? "" : have->second, value);
	}
	// A session that runs keeps its paths.
	for (const std::string &word :
	     session_was_there ? call.values(opt::kPath) : std::vector<std::string>())
		if (!is_configured(call.host, session, word))
			differ("session " + session.name, of_session_at, "path",
			       join(session.paths, " "), word);
}

// Of a session that runs, as any other mapping; else with all that the configuration has.
std::optional<Device> map_as_configured(Call &call, const Config &config, DeviceConfig wanted,
					const MapRequest &asked)
{
	MapRequest &request = wanted.request;
	request.needs_settings = !asked.settings.empty();
	if (!running_session(call.host, asked.session)) {
		apply_device(call, config, wanted);
		return find_device(call.host, asked.session, asked.device_path);
	}
	request.paths = asked.paths;
	request.port = asked.port;
	request.auth = asked.auth;
	request.key = asked.key;
	request.settings = asked.settings;
	return map_device(call, request);
}

} // namespace

void warn_of_unit(Call &call, const std::string &unit)
{
	const std::string folder = "/etc/systemd/system";
	if (!call.host.exists(folder))
		return;
	for (const std::string &name : call.host.list(folder))
		if (name.ends_with(".target.wants") &&
		    call.host.exists(fmt::format("{}/{}/{}", folder, name, unit)))
			return;
	call.terminal.err << fmt::format(
	    "{0} is not enabled: the next start of this machine does nothing with what is saved\n"
	    "  systemctl enable {0}\n",
	    unit);
}

std::optional<Device> map_and_save(Call &call, const MapRequest &asked)
{
	ConfigEdit edit(call);
	const Config before = edit.config();
	std::optional<Device> device = find_device(call.host, asked.session, asked.device_path);
	const DeviceConfig wanted = put_device(edit, call, asked, device);
	compare(call, asked, wanted, *edit.config().session(asked.session), before);
	if (device && device->access != wanted.request.access)
		throw Failure(Exit::Exists,
			      fmt::format("{} is mapped with access {}, and {} is configured at {}",
					  device->node(), device->access, wanted.request.access,
					  wanted.place));
	edit.check();
	if (!device)
		try {
			device = map_as_configured(call, edit.config(), wanted, asked);
		} catch (const Failure &failure) {
			if (!edit.changed() ||
			    !find_device(call.host, asked.session, asked.device_path))
				throw;
			throw Failure(failure.code(),
				      fmt::format("{}; it is not saved", failure.what()),
				      failure.hint());
		}
	edit.write(fmt::format("{} is mapped, and not saved",
			       device ? device->node() : asked.device_path));
	warn_of_unit(call, "rnbd-client.target");
	return device;
}

namespace {

// Failure (Exists) if it differs from an export that is there, in words of where that is.
void compare(const ExportRequest &asked, const Export &there, const std::string &where)
{
	for (const auto &[key, want, have] : export_differences(asked, there))
		throw Failure(Exit::Exists,
			      fmt::format("{}: export {} has {} {}, and {} is asked for", where,
					  asked.name, key, have.empty() ? "not given" : have,
					  want.empty() ? "none" : want),
			      "what is configured or runs is not changed by this: change it there");
}

// As one that would run, with what holds where nothing is said.
Export as_running(const ExportRequest &request)
{
	Export e;
	e.name = request.name;
	e.device_path = request.device_path;
	e.access = request.access.empty() ? "rw" : request.access;
	e.local_use = request.local_use.empty() ? "exclusive" : request.local_use;
	e.clients = join(request.clients, " ");
	e.keys = join(request.keys, " ");
	e.addresses = join(request.addresses, " ");
	return e;
}

} // namespace

ExportRequest add_export_and_save(Call &call, const ExportRequest &asked)
{
	ConfigEdit edit(call);
	if (!edit.config().exported(asked.name))
		edit.add("export", asked.name, section_of(asked));
	const ExportConfig *configured = edit.config().exported(asked.name);
	if (!configured)
		throw Failure(Exit::Usage,
			      fmt::format("{} cannot be saved in {}: it would read the name "
					  "otherwise",
					  asked.name, kConfigFile));
	auto resolved = [&](ExportRequest request) {
		request.addresses = resolved_rules(call.host, request.addresses);
		return request;
	};
	const ExportRequest wanted = resolved(configured->request);
	compare(resolved(asked), as_running(wanted), configured->place);
	const bool runs = call.host.exists(kExports + "/" + asked.name);
	if (runs)
		compare(wanted, read_export(call.host, asked.name), "it is there already");
	edit.check();
	if (!runs)
		add_export(call, wanted);
	edit.write(fmt::format("export {} is made, and not saved", asked.name));
	warn_of_unit(call, "rnbd-server.service");
	return wanted;
}

Exit end_each(Call &call, std::size_t count, const std::function<bool(std::size_t)> &end,
	      const std::function<void(ConfigEdit &, std::size_t)> &take_out)
{
	ConfigEdit edit(call);
	// What has no such name is said when its turn comes.
	for (std::size_t i = 0; i < count; i++)
		try {
			take_out(edit, i);
		} catch (const Failure &) {
		}
	edit.check();
	std::vector<bool> ended(count);
	const Exit code = call.each(count, [&](std::size_t i) { ended[i] = end(i); });
	const std::string done = "what was named is ended, and still in the configuration";
	edit.revert();
	if (!edit.config().mistakes.empty())
		throw Failure(Exit::Failed, done + ", which has a mistake now",
			      edit.config().mistakes[0].line());
	for (std::size_t i = 0; i < count; i++)
		if (ended[i])
			take_out(edit, i);
	edit.write(done);
	return code;
}

} // namespace rnbdadm
