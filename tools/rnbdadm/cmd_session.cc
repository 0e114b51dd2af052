// SPDX-License-Identifier: GPL-2.0
// session ..., path ...: the client's sessions and their paths.
#include "mapping.hh"
#include "names.hh"
#include "settings.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

std::vector<Session> client_sessions(const Call &call)
{
	if (!call.host.exists(kRtrsClient))
		throw Failure(Exit::Missing, "the module rtrs_client is not loaded",
			      "load it with: modprobe rnbd_client");
	return read_sessions(call.host, false);
}

Exit session_list(Call &call)
{
	need_modules(call.host);
	print_rows(call.out, kSessionKind, to_rows(all_sessions(call.host)), call.style);
	return Exit::Done;
}

Exit session_show(Call &call)
{
	print_one(call.out, kSessionKind,
		  to_json(one_session(call.host, client_sessions(call), call.arguments[0])),
		  call.style);
	return Exit::Done;
}

Exit session_set(Call &call)
{
	Session session = one_session(call.host, client_sessions(call), call.arguments[0]);
	std::vector<std::pair<const Setting *, std::string>> settings;
	// All are looked at before the first is written.
	for (std::size_t i = 1; i < call.arguments.size(); i++) {
		const std::string &word = call.arguments[i];
		std::size_t equals = word.find('=');
		std::string name = word.substr(0, equals);
		const Setting *setting = find_setting(name);
		if (equals == std::string::npos && setting)
			throw Failure(
			    Exit::Usage,
			    fmt::format("session set: {} has no value: {}=VALUE", name, name),
			    fmt::format("it is {}", setting->range));
		if (equals == std::string::npos || !setting)
			throw Failure(Exit::Usage,
				      fmt::format("session set: there is no setting '{}'{}", name,
						  did_you_mean(name, changeable_names())),
				      "settings, as NAME=VALUE: " + join(changeable_names(), " "));
		if (setting->fixed)
			refuse_fixed(session.name, *setting);
		check_setting(*setting, word.substr(equals + 1));
		settings.emplace_back(setting, word.substr(equals + 1));
	}
	return call.each(settings.size(), [&](std::size_t i) {
		apply_setting(call, session.name, *settings[i].first, settings[i].second);
	});
}

void act(Call &call, const Path &path, const char *file, Action action, const char *verb)
{
	call.write(path.folder + "/" + file, "1", action,
		   fmt::format("cannot {} path {}", verb, path.name), {path.name});
}

Exit on_session_paths(Call &call, const char *file, Action action, const char *verb)
{
	std::vector<Session> sessions = client_sessions(call);
	std::vector<Path> paths;
	for (const std::string &word : call.arguments)
		for (const Path &path : one_session(call.host, sessions, word).paths)
			paths.push_back(path);
	return call.each(paths.size(),
			 [&](std::size_t i) { act(call, paths[i], file, action, verb); });
}

Exit session_reconnect(Call &call)
{
	return on_session_paths(call, "reconnect", Action::ConnectPath, "reconnect");
}

// As check_last() of a path.
void check_unused(const Call &call, const Session &session)
{
	if (!session.connected() || !session.devices || call.has(opt::kForce))
		return;
	std::vector<std::string> disks;
	for (const Device &device : read_devices(call.host)) {
		const std::string users = users_of(device);
		if (device.session == session.name)
			disks.push_back(users.empty() ? device.name
						      : fmt::format("{} ({})", device.name, users));
	}
	throw Failure(Exit::Busy,
		      fmt::format("cannot disconnect session {}: {} device(s) use it: {}",
				  session.name, session.devices, join(disks, ", ")),
		      "their I/O would fail or wait; give --force if that is meant");
}

Exit session_disconnect(Call &call)
{
	// All are looked at before the first is disconnected.
	const std::vector<Session> sessions = client_sessions(call);
	for (const std::string &word : call.arguments)
		check_unused(call, one_session(call.host, sessions, word));
	return on_session_paths(call, "disconnect", Action::ClosePath, "disconnect");
}

Exit path_list(Call &call)
{
	need_modules(call.host);
	const std::vector<Session> sessions = all_sessions(call.host);
	// Client and server may have one of that name each.
	std::string name = call.arguments.empty() ? "" : call.arguments[0];
	if (!name.empty() && std::none_of(sessions.begin(), sessions.end(),
					  [&](const Session &s) { return s.name == name; }))
		name = one_session(call.host, sessions, name).name;
	std::vector<Json> rows;
	for (const Session &session : sessions)
		for (const Path &path : session.paths)
			if (name.empty() || name == session.name)
				rows.push_back(to_json(path));
	print_rows(call.out, kPathKind, rows, call.style);
	return Exit::Done;
}

Exit path_show(Call &call)
{
	need_modules(call.host);
	const Path path = one_path(call.host, all_sessions(call.host), call.arguments[0]);
	print_one(call.out, kPathKind, to_json(path), call.style);
	return Exit::Done;
}

Exit path_add(Call &call)
{
	Session session = one_session(call.host, client_sessions(call), call.arguments[0]);
	std::vector<std::string> paths;
	for (std::size_t i = 1; i < call.arguments.size(); i++)
		paths.push_back(call.path_of(call.arguments[i]));
	return call.each(paths.size(), [&](std::size_t i) {
		call.write(session.folder + "/add_path", paths[i], Action::AddPath,
			   fmt::format("cannot add path {} to session {}", paths[i], session.name),
			   {paths[i]});
	});
}

void check_last(const Call &call, const std::vector<Session> &sessions, const Path &path)
{
	for (const Session &session : sessions)
		if (session.name == path.session && path.connected() && session.connected() == 1 &&
		    session.devices > 0 && !call.has(opt::kForce))
			throw Failure(
			    Exit::Busy,
			    fmt::format("{} is the only connected path of session {}, which {} "
					"device(s) use",
					path.name, session.name, session.devices),
			    "their I/O would fail or wait; give --force if that is meant");
}

Exit on_paths(Call &call, const char *file, Action action, const char *verb, bool guarded)
{
	// Each with the state as it is then: the first may make the second the last one connected.
	return call.each(call.arguments.size(), [&](std::size_t i) {
		std::vector<Session> sessions = client_sessions(call);
		Path path = one_path(call.host, sessions, call.arguments[i]);
		if (guarded)
			check_last(call, sessions, path);
		act(call, path, file, action, verb);
	});
}

Exit path_remove(Call &call)
{
	return on_paths(call, "remove_path", Action::ClosePath, "remove", true);
}

Exit path_disconnect(Call &call)
{
	return on_paths(call, "disconnect", Action::ClosePath, "disconnect", true);
}

Exit path_reconnect(Call &call)
{
	return on_paths(call, "reconnect", Action::ConnectPath, "reconnect", false);
}

Exit path_readd(Call &call)
{
	return call.each(call.arguments.size(), [&](std::size_t i) {
		std::vector<Session> sessions = client_sessions(call);
		Path path = one_path(call.host, sessions, call.arguments[i]);
		check_last(call, sessions, path);
		act(call, path, "remove_path", Action::ClosePath, "remove");
		call.write(kRtrsClient + "/" + path.session + "/add_path",
			   path.source + "@" + path.destination, Action::AddPath,
			   fmt::format("path {} is removed and cannot be added again", path.name),
			   {path.name});
	});
}

} // namespace

std::vector<Command> session_commands()
{
	constexpr const char *kSession =
	    "a session: its name, an address of it or the name of its server";
	constexpr const char *kPath =
	    "a path: its name, session:port, hca:port, an address or the name of its server";
	const Argument session = {"SESSION", kSession, "session"};
	const Argument some = {"SESSION", kSession, "session", true, true};
	const Argument path = {"PATH", kPath, "path", true, true};
	const Option force = {opt::kForce, "even if it is the last connected path in use"};
	return {
	    {"session list",
	     "list sessions",
	     "Those of the client's side and of the server's.",
	     {},
	     {},
	     {{"rnbdadm session list -c all", ""}},
	     &kSessionKind,
	     session_list},
	    {"session show",
	     "show a session and its settings",
	     "",
	     {session},
	     {},
	     {{"rnbdadm session show store", ""}},
	     &kSessionKind,
	     session_show},
	    {"session set",
	     "change settings of a session",
	     "Settings take effect at once and last as long as the session. For ever is what "
	     "rnbd.conf(5) "
	     "says. Settings: policy (round-robin, min-inflight, min-latency), reconnect-attempts, "
	     "request-timeout (seconds), heartbeat-interval (milliseconds), heartbeat-missed-max, "
	     "reconnect-delay (seconds), tos (from the next connection on). A module "
	     "may lack some of them.",
	     {session, {"NAME=VALUE", "a setting", "setting", true, true}},
	     {},
	     {{"rnbdadm session set store policy=round-robin request-timeout=30", ""}},
	     nullptr,
	     session_set},
	    {"session reconnect",
	     "drop and connect anew all paths of a session",
	     "One after the other; blocks until each is decided.",
	     {some},
	     {},
	     {{"rnbdadm session reconnect store", ""}},
	     nullptr,
	     session_reconnect},
	    {"session disconnect",
	     "disconnect all paths of a session",
	     "They stay disconnected until they are reconnected; I/O of the session's devices "
	     "fails, or "
	     "waits for as long as their no_path_timeout says. So a connected session that devices "
	     "use "
	     "is left as it is unless --force is given.",
	     {some},
	     {{opt::kForce, "even if devices use it"}},
	     {{"rnbdadm session disconnect store", ""}},
	     nullptr,
	     session_disconnect},
	    {"path list",
	     "list paths",
	     "Of one session, or of all.",
	     {{"SESSION", kSession, "session", false}},
	     {},
	     {{"rnbdadm path list store", ""}},
	     &kPathKind,
	     path_list},
	    {"path show",
	     "show all about a path",
	     "",
	     {{"PATH", kPath, "path"}},
	     {},
	     {{"rnbdadm path show store:1", ""}},
	     &kPathKind,
	     path_show},
	    {"path add",
	     "add paths to a session",
	     "Returns when the path is connected, or with the reason why not.",
	     {session,
	      {"[SRC@]DST", "address of the server, after the one to come from", "", true, true}},
	     {},
	     {{"rnbdadm path add store 10.0.1.2@10.0.1.1", ""}},
	     nullptr,
	     path_add},
	    {"path remove",
	     "remove paths from their session",
	     "The last connected path of a session that devices use is kept unless --force is "
	     "given.",
	     {path},
	     {force},
	     {{"rnbdadm path remove 10.0.1.2@10.0.1.1", ""}},
	     nullptr,
	     path_remove},
	    {"path disconnect",
	     "disconnect paths until they are reconnected",
	     "The last connected path of a session that devices use is kept unless --force is "
	     "given.",
	     {path},
	     {force},
	     {{"rnbdadm path disconnect mlx5_0:1", "before work on a cable"}},
	     nullptr,
	     path_disconnect},
	    {"path reconnect",
	     "drop and connect paths anew",
	     "Returns when it is decided. Also brings a path back that has given up.",
	     {path},
	     {},
	     {{"rnbdadm path reconnect store:10.0.1.1", ""}},
	     nullptr,
	     path_reconnect},
	    {"path readd",
	     "remove paths and add them again",
	     "For a path whose addresses shall be resolved anew.",
	     {path},
	     {force},
	     {{"rnbdadm path readd store:1", ""}},
	     nullptr,
	     path_readd},
	};
}

} // namespace rnbdadm
