// SPDX-License-Identifier: GPL-2.0
// list, show, dump, hca list.
#include "exports.hh"
#include "mapping.hh"
#include "names.hh"
#include "text.hh"

#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// Session with its paths and devices inside.
Json nested(const Session &session, const std::vector<Device> &devices,
	    const std::vector<Opened> &opened)
{
	Json j = to_json(session);
	j["path_list"] = to_rows(session.paths);
	j["device_list"] = Json::array();
	for (const Device &device : devices)
		if (!session.server && device.session == session.name)
			j["device_list"].push_back(to_json(device));
	for (const Opened &o : opened)
		if (session.server && o.session == session.name)
			j["device_list"].push_back(to_json(o));
	return j;
}

Json everything(const Host &host)
{
	Json j = document();
	std::vector<Device> devices = read_devices(host);
	std::vector<Opened> opened = read_opened(host);
	j["devices"] = to_rows(devices);
	j["sessions"] = Json::array();
	for (const Session &session : all_sessions(host))
		j["sessions"].push_back(nested(session, devices, opened));
	j["paths"] = to_rows(all_paths(host));
	j["opened"] = to_rows(opened);
	j["exports"] = to_rows(read_exports(host));
	return j;
}

std::string word(const Json &object, const char *key)
{
	return printable(object[key].get<std::string>());
}

void print_path_line(Call &call, const Json &path, const std::string &branch)
{
	std::string state = word(path, "state");
	call.out << fmt::format("{}path {}  {}:{}  {}\n", branch, word(path, "name"),
				word(path, "hca"), path["port"].dump(),
				coloured(state, state, call.style.colour));
}

void print_tree(Call &call, const Json &session)
{
	std::string state = word(session, "state");
	call.out << fmt::format("session {} ({})  {}, {} of {} paths{}\n", word(session, "name"),
				word(session, "side"), coloured(state, state, call.style.colour),
				session["paths_connected"].dump(), session["paths"].dump(),
				session["policy"].is_null() ? "" : ", " + word(session, "policy"));
	std::size_t left = session["path_list"].size() + session["device_list"].size();
	for (const Json &path : session["path_list"])
		print_path_line(call, path, --left ? "├── " : "└── ");
	for (const Json &device : session["device_list"]) {
		std::string branch = --left ? "├── " : "└── ";
		if (device.contains("device")) {
			call.out << fmt::format("{}device {}  {}  as {}\n", branch,
						word(device, "device"), word(device, "access"),
						word(device, "client_path"));
			continue;
		}
		std::string text = word(device, "state");
		call.out << fmt::format(
		    "{}device {}  {}  {}  {}  {}\n", branch, word(device, "name"),
		    word(device, "device_path"), shown(device["size"], Unit::Bytes, call.style),
		    word(device, "access"), coloured(text, text, call.style.colour));
	}
}

Exit tree(Call &call)
{
	if (call.style.format == Format::Csv || !call.style.columns.empty())
		throw Failure(Exit::Usage, "list tree: a tree has no lines and columns of one kind",
			      "list sessions, paths or devices has; list tree -o json is nested");
	need_modules(call.host);
	Json all = everything(call.host);
	if (call.style.format == Format::Json) {
		print_document(call.out, all);
		return Exit::Done;
	}
	for (const Json &session : all["sessions"])
		print_tree(call, session);
	return Exit::Done;
}

Exit list(Call &call)
{
	std::string what = call.arguments.empty() ? "devices" : call.arguments[0];
	const std::vector<std::string> words = {"devices", "sessions", "paths",
						"opened",  "exports",  "tree"};
	if (what == "tree")
		return tree(call);
	const Kind *kind = nullptr;
	std::vector<Json> rows;
	if (what == "devices") {
		need_modules(call.host);
		if (!client_loaded(call.host))
			call.terminal.err << "the module rnbd_client is not loaded: nothing is "
					     "mapped here\n";
		kind = &kDeviceKind;
		rows = to_rows(read_devices(call.host));
	} else if (what == "sessions") {
		need_modules(call.host);
		kind = &kSessionKind;
		rows = to_rows(all_sessions(call.host));
	} else if (what == "paths") {
		need_modules(call.host);
		kind = &kPathKind;
		rows = to_rows(all_paths(call.host));
	} else if (what == "opened") {
		need_server(call.host);
		kind = &kOpenedKind;
		rows = to_rows(read_opened(call.host));
	} else if (what == "exports") {
		need_export_list(call.host);
		kind = &kExportKind;
		rows = to_rows(read_exports(call.host));
	} else {
		throw Failure(Exit::Usage,
			      fmt::format("list: '{}' is not one of {}{}", what, join(words, ", "),
					  did_you_mean(what, words)));
	}
	print_rows(call.out, *kind, rows, call.style);
	return Exit::Done;
}

Exit dump(Call &call)
{
	need_modules(call.host);
	print_document(call.out, everything(call.host));
	return Exit::Done;
}

// Those of that name, of client and server. False if there is none.
bool show_sessions(Call &call, const std::vector<Device> &devices,
		   const std::vector<Session> &sessions, const std::string &name)
{
	std::vector<Json> named;
	for (const Session &session : sessions)
		if (session.name == name)
			named.push_back(nested(session, devices, read_opened(call.host)));
	if (named.empty())
		return false;
	if (call.style.format == Format::Json) {
		Json j = document();
		j["sessions"] = named;
		print_document(call.out, j);
		return true;
	}
	for (const Json &session : named) {
		if (call.style.format == Format::Csv)
			print_one(call.out, kSessionKind, session, call.style);
		else
			print_tree(call, session);
	}
	return true;
}

// Whatever the word names: a device first, then a session, then a path.
Exit show(Call &call)
{
	need_modules(call.host);
	const std::string &word = call.arguments[0];
	std::vector<Device> devices = read_devices(call.host);
	try {
		print_one(call.out, kDeviceKind, to_json(one_device(call.host, devices, word)),
			  call.style);
		return Exit::Done;
	} catch (const Failure &failure) {
		if (failure.code() != Exit::NotFound)
			throw;
	}
	const std::vector<Session> sessions = all_sessions(call.host);
	if (show_sessions(call, devices, sessions, word))
		return Exit::Done;
	try {
		print_one(call.out, kPathKind, to_json(one_path(sessions, word)), call.style);
		return Exit::Done;
	} catch (const Failure &failure) {
		if (failure.code() != Exit::NotFound)
			throw;
	}
	// A server by the name of its machine is what leads there.
	try {
		show_sessions(call, devices, sessions, one_session(call.host, sessions, word).name);
		return Exit::Done;
	} catch (const Failure &failure) {
		if (failure.code() != Exit::NotFound)
			throw;
	}
	std::vector<std::string> candidates;
	for (const Device &device : devices)
		for (const std::string &name : {device.name, device.device_path})
			candidates.push_back(name);
	for (const Session &session : sessions)
		candidates.push_back(session.name);
	throw Failure(Exit::NotFound,
		      fmt::format("there is no device, session or path '{}'{}", word,
				  did_you_mean(word, candidates)),
		      "see: rnbdadm list tree");
}

} // namespace

std::vector<Command> list_commands()
{
	return {
	    {"list",
	     "list devices, sessions, paths, exports, or all of it as a tree",
	     "A line for each object, of the client's side and the server's. Nothing is printed if "
	     "there is none; without the module that would have them the exit code is 9.",
	     {{"WHAT", "devices (if not given), sessions, paths, opened, exports or tree",
	       "devices|sessions|paths|opened|exports|tree", false}},
	     {},
	     {{"rnbdadm list", "the disks that are mapped here"},
	      {"rnbdadm list tree", "sessions with their paths and devices"},
	      {"rnbdadm list paths -o json", "for programs"},
	      {"rnbdadm list devices -c name,mounts,owner", "other columns"}},
	     nullptr,
	     list},
	    {"show",
	     "show all about a device, a session or a path",
	     "OBJECT is a disk (rnbd0, /dev/rnbd0), a device's path on the server, the name of a "
	     "session, "
	     "the name of a path, session:port, hca:port, an address, or the name of a server. If "
	     "it fits several "
	     "objects, they "
	     "are listed.",
	     {{"OBJECT", "a device, session or path, by any of its names", "device|session|path"}},
	     {},
	     {{"rnbdadm show rnbd0", ""},
	      {"rnbdadm show store -o json", "a session with its paths"}},
	     nullptr,
	     show},
	    {"dump",
	     "print everything as one JSON document",
	     "What list prints of every kind, for programs and for reports.",
	     {},
	     {},
	     {{"rnbdadm dump | jq '.devices[].name'", ""}},
	     nullptr,
	     dump,
	     false,
	     "json"},
	};
}

} // namespace rnbdadm
