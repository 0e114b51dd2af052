// SPDX-License-Identifier: GPL-2.0
// From what is configured to what runs.
#include "apply.hh"

#include "settings.hh"
#include "text.hh"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include <fmt/format.h>
#include <rnbd/pure/map_options.hh>

namespace rnbdadm {

Json to_json(const Difference &d)
{
	Json j;
	j["object"] = d.object;
	j["key"] = d.key;
	j["configured"] = d.configured.empty() ? Json() : Json(d.configured);
	j["running"] = d.running.empty() ? Json() : Json(d.running);
	return j;
}

namespace {

void compare_session(const Host &host, const SessionConfig &wanted, const Session &session,
		     bool extra, std::vector<Difference> &found)
{
	std::string object = "session " + wanted.name;
	const ResolvedPaths resolved = resolve_paths(host, wanted, &session);
	for (const std::string &path : resolved.paths)
		if (!has_path(session, path))
			found.push_back({object, "path", path, ""});
	for (const ResolvedPaths::Missing &m : resolved.missing)
		found.push_back({object, "path", fmt::format("{} ({})", m.word, m.reason), ""});
	// A path may be that of a name that nobody knows at present.
	if (extra && resolved.missing.empty())
		for (const Path &path : session.paths)
			if (std::none_of(resolved.paths.begin(), resolved.paths.end(),
					 [&](const std::string &p) { return same_path(p, path); }))
				found.push_back({object, "path", "", path.name});
	if (session.server_port && static_cast<std::int64_t>(*session.server_port) != wanted.port)
		found.push_back({object, "port", std::to_string(wanted.port),
				 std::to_string(*session.server_port)});
	if (const std::string auth = wanted_auth(wanted.auth, wanted.key);
	    session.auth && !auth.empty() && *session.auth != auth)
		found.push_back({object, "auth", auth, *session.auth});
	if (session.key && *session.key != wanted.key)
		found.push_back({object, "key", wanted.key, *session.key});
	for (const auto &[name, value] : wanted.settings) {
		auto running = running_value(host, wanted.name, *find_setting(name));
		if (running != value)
			found.push_back({object, name, value, running.value_or("")});
	}
}

void compare_device(const DeviceConfig &wanted, const Device &device,
		    std::vector<Difference> &found)
{
	std::string object = "device " + wanted.name;
	const MapRequest &request = wanted.request;
	if (device.access != request.access)
		found.push_back({object, "access", request.access, device.access});
	if (request.no_path_timeout && request.no_path_timeout != device.no_path_timeout)
		found.push_back(
		    {object, "no-path-timeout", std::to_string(*request.no_path_timeout),
		     device.no_path_timeout ? std::to_string(*device.no_path_timeout) : ""});
}

const Session *find_session(const std::vector<Session> &sessions, const std::string &name)
{
	for (const Session &session : sessions)
		if (session.name == name)
			return &session;
	return nullptr;
}

void compare_export(const Host &host, ExportRequest wanted, const Export &running,
		    std::vector<Difference> &found)
{
	const std::string object = "export " + wanted.name;
	try {
		wanted.addresses = resolved_rules(host, wanted.addresses);
	} catch (const Failure &failure) {
		const std::string have = running.addresses.value_or("");
		found.push_back({object, "address", failure.what(), have});
		wanted.addresses = split(have);
	}
	for (const auto &[key, want, have] : export_differences(wanted, running))
		found.push_back({object, key, want, have});
}

} // namespace

std::vector<Device> extra_of(std::vector<Device> running, const Config &config)
{
	std::set<std::pair<std::string, std::string>> configured;
	for (const DeviceConfig &d : config.devices)
		configured.emplace(d.request.session, d.request.device_path);
	std::erase_if(running, [&](const Device &d) {
		return configured.contains({d.session, d.device_path}) ||
		       (!d.owner.empty() && config.faulty("device", d.owner));
	});
	return running;
}

std::vector<Export> extra_of(std::vector<Export> running, const Config &config)
{
	std::erase_if(running, [&](const Export &e) {
		return config.exported(e.name) || config.faulty("export", e.name);
	});
	return running;
}

std::vector<Difference> find_differences(const Host &host, const Config &config, bool extra)
{
	std::vector<Difference> found;
	std::vector<Session> sessions = read_sessions(host, false);
	for (const SessionConfig &wanted : config.sessions)
		if (const Session *session = find_session(sessions, wanted.name))
			compare_session(host, wanted, *session, extra, found);
	const std::vector<Device> devices = read_devices(host);
	using Mapping = std::pair<std::string, std::string>;
	std::map<Mapping, const Device *> running_devices;
	for (const Device &device : devices)
		running_devices.emplace(Mapping(device.session, device.device_path), &device);
	for (const DeviceConfig &wanted : config.devices) {
		auto at =
		    running_devices.find({wanted.request.session, wanted.request.device_path});
		if (at != running_devices.end())
			compare_device(wanted, *at->second, found);
		else
			found.push_back({"device " + wanted.name, "mapping",
					 wanted.request.session + ":" + wanted.request.device_path,
					 ""});
	}
	std::vector<Export> exports = read_exports(host);
	for (const ExportConfig &wanted : config.exports) {
		auto running = std::find_if(exports.begin(), exports.end(), [&](const Export &e) {
			return e.name == wanted.request.name;
		});
		if (running != exports.end())
			compare_export(host, wanted.request, *running, found);
		else
			found.push_back({"export " + wanted.request.name, "mapping",
					 wanted.request.device_path, ""});
	}
	const std::vector<NameList> lists = read_name_lists(host);
	for (const NameListConfig &wanted : config.name_lists) {
		auto running = std::find_if(lists.begin(), lists.end(), [&](const NameList &l) {
			return l.key == wanted.list.key;
		});
		for (const auto &[key, want, have] : name_list_differences(
			 wanted.list, running == lists.end() ? NameList() : *running))
			found.push_back({"key " + wanted.list.key, key, want, have});
	}
	if (!extra)
		return found;
	for (const NameList &list : lists)
		if (!list.clients.empty() && !config.faulty("key", list.key) &&
		    std::none_of(config.name_lists.begin(), config.name_lists.end(),
				 [&](const NameListConfig &c) { return c.list.key == list.key; }))
			found.push_back({"key " + list.key, "client", "", join(list.clients, " ")});
	for (const Device &device : extra_of(devices, config))
		found.push_back({"device " + device.name, "mapping", "",
				 device.session + ":" + device.device_path});
	for (const Export &e : extra_of(exports, config))
		found.push_back({"export " + e.name, "mapping", "", e.device_path});
	return found;
}

std::optional<Session> running_session(const Host &host, const std::string &name)
{
	if (!host.exists(fmt::format("{}/{}", kRtrsClient, name)))
		return std::nullopt;
	return read_session(host, false, name);
}

namespace {

// With addresses for names. What nobody knows is said, and left out; Failure if nothing is left:
// that may pass by itself, so it is no mistake of the configuration.
SessionConfig with_addresses(Call &call, const SessionConfig &wanted)
{
	const std::optional<Session> running = running_session(call.host, wanted.name);
	ResolvedPaths resolved = resolve_paths(call.host, wanted, running ? &*running : nullptr);
	for (const ResolvedPaths::Missing &m : resolved.missing) {
		const Failure failure(
		    Exit::Failed,
		    fmt::format("session {}: path {}: {}", wanted.name, m.word, m.reason),
		    "is it spelled right, and does the resolver work? getent ahosts NAME");
		if (resolved.paths.empty())
			throw failure;
		call.report(failure);
	}
	SessionConfig session = wanted;
	session.paths = std::move(resolved.paths);
	return session;
}

// The session exists. True if something was changed; what the module lacks is said, and no reason
// to leave the disk out.
bool apply_session(Call &call, const SessionConfig &wanted)
{
	bool changed = false;
	const std::optional<Session> session = running_session(call.host, wanted.name);
	if (!session)
		return false;
	// It may lead to another server.
	if (session->server_port && static_cast<std::int64_t>(*session->server_port) != wanted.port)
		throw Failure(Exit::Failed,
			      fmt::format("session {} is with port {}, and {} is configured",
					  wanted.name, *session->server_port, wanted.port),
			      "unmap its devices first: it ends with the last of them");
	const std::string auth = wanted_auth(wanted.auth, wanted.key);
	if ((session->auth && !auth.empty() && *session->auth != auth) ||
	    (session->key && *session->key != wanted.key))
		throw Failure(Exit::Failed,
			      fmt::format("session {} is open with another auth or key than "
					  "configured",
					  wanted.name),
			      "unmap its devices first: it ends with the last of them");
	for (const auto &[name, value] : wanted.settings) {
		const Setting &setting = *find_setting(name);
		auto running = running_value(call.host, wanted.name, setting);
		if (!running)
			call.say(fmt::format("session {}: the loaded module has no setting {}",
					     wanted.name, name));
		if (!running || *running == value)
			continue;
		apply_setting(call, wanted.name, setting, value);
		changed = true;
	}
	for (const std::string &path : wanted.paths) {
		if (has_path(*session, path))
			continue;
		const int answer = call.try_write(session->folder + "/add_path", path);
		// Another unit of this session brings it about at this moment.
		if (answer == EEXIST)
			continue;
		if (answer)
			throw call.failure_of(
			    answer, Action::AddPath,
			    fmt::format("cannot add path {} to session {}", path, wanted.name),
			    {path});
		changed = true;
	}
	return changed;
}

// False if another process has mapped it since it was looked for.
bool map_unless_there(Call &call, const MapRequest &request)
{
	try {
		map_device(call, request);
		return true;
	} catch (const Failure &failure) {
		if (failure.code() != Exit::Exists ||
		    !find_device(call.host, request.session, request.device_path))
			throw;
		return false;
	}
}

} // namespace

std::string apply_device(Call &call, const Config &config, const DeviceConfig &wanted)
{
	need_client(call.host);
	const SessionConfig *configured = config.session(wanted.request.session);
	std::optional<SessionConfig> session;
	if (configured)
		session = with_addresses(call, *configured);
	auto device = find_device(call.host, wanted.request.session, wanted.request.device_path);
	if (!device) {
		// An existing session gets its missing paths first: those that it has may be dead.
		if (session)
			apply_session(call, *session);
		MapRequest request = wanted.request;
		if (session)
			request.paths = session->paths;
		const std::vector<std::string> paths = request.paths;
		if (request.paths.size() > rnbd::kMaxMapPaths)
			request.paths.resize(rnbd::kMaxMapPaths);
		const bool known =
		    call.host.exists(fmt::format("{}/{}", kRtrsClient, request.session));
		const bool by_other = !map_unless_there(call, request);
		if (session)
			apply_session(call, *session);
		if (by_other)
			return "unchanged";
		if (call.dry_run && !known)
			for (std::size_t i = request.paths.size(); i < paths.size(); i++)
				call.out << fmt::format("write '{}' to {}/{}/add_path\n", paths[i],
							kRtrsClient, request.session);
		return "mapped";
	}
	bool changed = session && apply_session(call, *session);
	if (device->access != wanted.request.access)
		throw Failure(Exit::Failed,
			      fmt::format("{} is mapped with access {}, and {} is configured",
					  device->node(), device->access, wanted.request.access),
			      fmt::format("unmap it first: rnbdadm unmap {}", device->name));
	const auto &timeout = wanted.request.no_path_timeout;
	if (timeout && device->no_path_timeout && timeout != device->no_path_timeout) {
		call.write(device->folder + "/no_path_timeout", std::to_string(*timeout),
			   Action::Configure,
			   fmt::format("cannot set no-path-timeout of {}", device->node()));
		changed = true;
	}
	if (device->state == "closed") {
		call.write(device->folder + "/remap_device", "1", Action::Remap,
			   "cannot remap " + device->node());
		return "remapped";
	}
	return changed ? "changed" : "unchanged";
}

std::string apply_export(Call &call, const ExportConfig &wanted)
{
	need_exports(call.host);
	ExportRequest request = wanted.request;
	request.addresses = resolved_rules(call.host, request.addresses);
	if (call.host.exists(kExports + "/" + request.name))
		return change_export(call, read_export(call.host, request.name), request)
			   ? "changed"
			   : "unchanged";
	add_export(call, request);
	return "exported";
}

} // namespace rnbdadm
