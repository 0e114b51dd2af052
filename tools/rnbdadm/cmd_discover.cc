// SPDX-License-Identifier: GPL-2.0
// discover, and map --all, which maps what it finds.
#include "discovery.hh"
#include "exports.hh"
#include "names.hh"
#include "saving.hh"
#include "text.hh"

#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// The name of this machine, of which a session's may have no dot.
std::string machine_name(const Host &host)
{
	const std::string name = trim(host.text("/proc/sys/kernel/hostname"));
	return name.substr(0, name.find('.'));
}

// Sessions that lead to that address already.
std::vector<std::string> sessions_to(const std::vector<Session> &sessions, const std::string &path)
{
	const std::string destination = path.substr(path.find('@') + 1);
	std::vector<std::string> names;
	for (const Session &session : sessions)
		for (const Path &p : session.paths)
			if (p.destination == destination) {
				names.push_back(session.name);
				break;
			}
	return names;
}

// Whom the words of the command line mean: a session that exists, or a server, which is asked in
// the session that leads there, or in a new one.
MapRequest whom_to_ask(Call &call)
{
	MapRequest request;
	request.port = call.number(opt::kPort);
	request.auth = call.value(opt::kAuth);
	request.key = call.value(opt::kKey);
	const std::vector<Session> sessions = read_sessions(call.host, false);
	auto exists = [&](const std::string &name) {
		return std::any_of(sessions.begin(), sessions.end(),
				   [&](const Session &s) { return s.name == name; });
	};
	std::vector<std::string> servers = call.values(opt::kPath);
	if (!call.arguments.empty()) {
		if (servers.empty() && !call.has(opt::kSession) && exists(call.arguments[0])) {
			request.session = call.arguments[0];
			return request;
		}
		servers.insert(servers.begin(), call.arguments[0]);
	}
	for (const std::string &server : servers)
		request.paths.push_back(call.path_of(server));
	request.session = call.value(opt::kSession);
	if (request.session.empty() && request.paths.empty())
		throw Failure(Exit::Usage, "discover: say which server, or which session",
			      "its name or address, or --session with a session that exists");
	if (request.session.empty()) {
		const std::vector<std::string> there = sessions_to(sessions, request.paths[0]);
		if (there.size() > 1)
			throw Failure(Exit::Ambiguous,
				      fmt::format("several sessions lead to {}", request.paths[0]),
				      "say which with --session: " + join(there, " "));
		request.session = there.empty() ? machine_name(call.host) : there[0];
		if (call.style.format == Format::Table)
			call.terminal.err << printable(fmt::format(
			    "asking as session {}; --session asks as another\n", request.session));
	}
	if (exists(request.session))
		request.paths.clear();
	else if (request.paths.empty())
		throw Failure(Exit::Usage,
			      fmt::format("there is no session '{}' yet: say where the server is",
					  request.session));
	return request;
}

Exit run_discover(Call &call)
{
	need_client(call.host);
	MapRequest request = whom_to_ask(call);
	request.device_path = "-"; // none is asked for
	check_request(call.host, request);
	const std::optional<Discovery> discovery = discover(call, request);
	if (!discovery)
		return Exit::Done;
	std::vector<Json> rows;
	for (const Discovered &e : discovery->exports)
		rows.push_back({{"name", e.name},
				{"size", e.size ? Json(*e.size) : Json()},
				{"access", e.access},
				{"here", e.here},
				{"elsewhere", e.elsewhere.empty() ? Json() : Json(e.elsewhere)},
				{"session", request.session}});
	print_rows(call.out, kDiscoveredKind, rows, call.style);
	if (discovery->paths_too && call.style.format == Format::Table)
		call.terminal.err << "the server also opens block devices by their paths, which it "
				     "does not list\n";
	return Exit::Done;
}

// Why it is not for `map --all`, or "".
std::string unfit(const Discovered &e, const std::string &access)
{
	if (!e.size)
		return "the server's device is not there";
	if (e.here)
		return "this session has it already";
	if (access == "shared" && e.access != "shared")
		return "it is not exported as shared";
	if (e.elsewhere == "written" && access == "rw")
		return "another session writes to it";
	if (!can_be_mapped(e.name))
		return "its name has a blank";
	return "";
}

} // namespace

Exit map_all(Call &call, const MapRequest &wanted)
{
	MapRequest question = wanted;
	if (call.host.exists(fmt::format("{}/{}", kRtrsClient, wanted.session)))
		question.paths.clear();
	const std::optional<Discovery> discovery = discover(call, question);
	if (!discovery)
		return Exit::Done;
	std::vector<MapRequest> requests;
	for (const Discovered &e : discovery->exports) {
		MapRequest request = wanted;
		request.device_path = e.name;
		if (e.access == "ro")
			request.access = "ro";
		const std::string reason = unfit(e, request.access);
		if (reason.empty())
			requests.push_back(request);
		else
			call.terminal.err
			    << printable(fmt::format("{} left out: {}\n", e.name, reason));
	}
	std::vector<Device> devices;
	const Exit end = call.each(requests.size(), [&](std::size_t i) {
		const MapRequest &request = requests[i];
		if (const std::optional<Device> device = call.has(opt::kSave)
							     ? map_and_save(call, request)
							     : map_device(call, request))
			devices.push_back(*device);
	});
	if (call.style.format != Format::Table)
		print_rows(call.out, kDeviceKind, to_rows(devices), call.style);
	else
		for (const Device &device : devices)
			call.out << device.node() << '\n';
	return end;
}

std::vector<Command> discover_commands()
{
	return {
	    {"discover",
	     "ask a server what it exports to this machine",
	     "Lists the exports that a session of this machine may open on the server, with their "
	     "size, the most that may be asked for, and whether somebody has them open. What the "
	     "server would refuse to this session, by its name, its key or the address that it "
	     "comes from, is not told.\n\n"
	     "SERVER is a session that exists, or a name or address of the server, after the "
	     "address of this machine to come from, if you want to choose it. A session that leads "
	     "there is used; else one is opened, with the name that --session gives or that of "
	     "this machine, and closed after the question.\n\n"
	     "Only servers of this project answer. Block devices that a server opens by their "
	     "paths, as it does without exports_only, are not listed.",
	     {{"SERVER", "a session, or [SRC@]DST: name or address of the server", "session",
	       false}},
	     {{opt::kSession, "session to ask in, or name of the new one"},
	      {opt::kPath, "a further address of the server"},
	      {opt::kPort, "port of the server, 1234 if not given"},
	      {opt::kAuth, "as for map"},
	      {opt::kKey, "name of the key by which a new session proves who it is"}},
	     {{"rnbdadm discover 192.0.2.10", "what this machine may have of a server"},
	      {"rnbdadm discover store1 -s client7 --key client7", "as a session with a key"},
	      {"rnbdadm map --all -s client7 -p store1", "all of it"}},
	     &kDiscoveredKind,
	     run_discover},
	};
}

} // namespace rnbdadm
