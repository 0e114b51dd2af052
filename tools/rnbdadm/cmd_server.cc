// SPDX-License-Identifier: GPL-2.0
// server ...: what this machine serves, and to whom; exports are in cmd_export.cc.
#include "mapping.hh"
#include "names.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

Exit server_list(Call &call)
{
	need_server(call.host);
	print_rows(call.out, kOpenedKind, to_rows(read_opened(call.host)), call.style);
	return Exit::Done;
}

Exit server_show(Call &call)
{
	need_server(call.host);
	const std::string &word = call.arguments[0];
	std::vector<std::string> candidates;
	Json j = document();
	j["opened"] = Json::array();
	j["paths"] = Json::array();
	std::vector<Json> opened, paths;
	for (const Opened &o : read_opened(call.host)) {
		candidates.push_back(o.device);
		candidates.push_back(o.session);
		if (o.is_meant(word))
			opened.push_back(to_json(o));
	}
	for (const Session &session : read_sessions(call.host, true)) {
		candidates.push_back(session.name);
		for (const Path &path : session.paths)
			if (word == session.name)
				paths.push_back(to_json(path));
	}
	if (opened.empty() && paths.empty())
		throw Failure(Exit::NotFound,
			      fmt::format("no client has '{}' open, and no session is named so{}",
					  word, did_you_mean(word, candidates)));
	if (call.style.format == Format::Json) {
		j["opened"] = opened;
		j["paths"] = paths;
		print_document(call.out, j);
		return Exit::Done;
	}
	print_rows(call.out, kOpenedKind, opened, call.style);
	if (!opened.empty() && !paths.empty())
		call.out << '\n';
	print_rows(call.out, kPathKind, paths, call.style);
	return Exit::Done;
}

Exit server_close(Call &call)
{
	need_server(call.host);
	const std::string &word = call.arguments[0];
	std::string session = call.arguments.size() > 1 ? call.arguments[1] : "";
	std::vector<Opened> chosen;
	std::vector<std::string> candidates;
	for (const Opened &o : read_opened(call.host)) {
		for (const std::string &name : {o.device, "/dev/" + o.device, o.client_path})
			candidates.push_back(name);
		if (o.is_called(word) && (session.empty() || session == o.session))
			chosen.push_back(o);
	}
	if (chosen.empty())
		throw Failure(Exit::NotFound,
			      session.empty() ? fmt::format("no client has '{}' open{}", word,
							    did_you_mean(word, candidates))
					      : fmt::format("session '{}' does not have '{}' open",
							    session, word));
	if (chosen.size() > 1 && !call.has(opt::kAll)) {
		std::string list;
		for (const Opened &o : chosen)
			list +=
			    fmt::format("{}{} {}", list.empty() ? "" : "\n", o.device, o.session);
		throw Failure(
		    Exit::Ambiguous,
		    fmt::format("several sessions have '{}' open; name one, or give --all:", word),
		    list);
	}
	return call.each(chosen.size(), [&](std::size_t i) {
		call.write(chosen[i].folder + "/force_close", "1", Action::ServerClose,
			   fmt::format("cannot close {} for session {}", chosen[i].device,
				       chosen[i].session));
	});
}

Exit server_disconnect(Call &call)
{
	need_server(call.host);
	std::vector<Session> sessions = read_sessions(call.host, true);
	std::vector<Path> paths;
	for (const std::string &word : call.arguments)
		for (const Path &path : some_paths(call.host, sessions, word))
			paths.push_back(path);
	return call.each(paths.size(), [&](std::size_t i) {
		call.write(paths[i].folder + "/disconnect", "1", Action::ClosePath,
			   "cannot disconnect path " + paths[i].name);
	});
}

// Modules of the kernel, and older ones of ours, can't.
void set_serving(Call &call, bool on)
{
	need_server(call.host);
	const std::string file = kRnbdServer + "/ctl/serving";
	if (!call.host.exists(file))
		throw too_old_server();
	call.write(file, on ? "1" : "0", Action::Configure,
		   on ? "cannot serve" : "cannot stop serving");
}

Exit server_pause(Call &call)
{
	set_serving(call, false);
	return Exit::Done;
}

Exit server_resume(Call &call)
{
	set_serving(call, true);
	return Exit::Done;
}

} // namespace

std::vector<Command> server_commands()
{
	return {
	    {"server list",
	     "list the block devices that clients have open",
	     "A line for each device and session.",
	     {},
	     {},
	     {{"rnbdadm server list", ""}},
	     &kOpenedKind,
	     server_list},
	    {"server show",
	     "show who uses a device, or what a session uses and over which paths",
	     "",
	     {{"OBJECT", "a block device, a client's name of one, or a session",
	       "served|server-session"}},
	     {},
	     {{"rnbdadm server show nvme0n1", ""}},
	     nullptr,
	     server_show},
	    {"server close",
	     "close a device for a client",
	     "The client's disk is 'closed' within seconds, and its I/O fails until 'rnbdadm "
	     "remap' is "
	     "run there. A client with the kernel's own modules does not notice: its disk stays "
	     "'open', its I/O fails, and it needs 'rnbdadm remap --force'.",
	     {{"DEVICE", "a block device, or a client's name of it", "served"},
	      {"SESSION", "the session to close it for", "server-session", false}},
	     {{opt::kAll, "for every session that has it open"}},
	     {{"rnbdadm server close nvme0n1 client7", ""}},
	     nullptr,
	     server_close},
	    {"server disconnect",
	     "disconnect paths of clients",
	     "Returns at once. The client may connect again, and does so by itself.",
	     {{"PATH", "a path, or a session or a client's name for all of its paths",
	       "server-session", true, true}},
	     {},
	     {{"rnbdadm server disconnect client7", ""}},
	     nullptr,
	     server_disconnect},
	    {"server pause",
	     "serve nobody until 'server resume', without an error to clients",
	     "All paths are closed, and nothing is answered any more: I/O of clients goes over "
	     "other servers' paths, or waits as no-path-timeout says there. Every disk has been "
	     "flushed and closed when this returns. Exports stay.",
	     {},
	     {},
	     {{"rnbdadm server pause", "before work on this machine or its disks"}},
	     nullptr,
	     server_pause},
	    {"server resume",
	     "serve again",
	     "",
	     {},
	     {},
	     {{"rnbdadm server resume", ""}},
	     nullptr,
	     server_resume},
	};
}

} // namespace rnbdadm
