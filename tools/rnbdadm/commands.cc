// SPDX-License-Identifier: GPL-2.0
// The table of commands, put together.
#include "mapping.hh"

namespace rnbdadm {

const std::vector<Command> &commands()
{
	static const std::vector<Command> kAll = [] {
		std::vector<Command> all;
		for (auto part :
		     {map_commands, list_commands, session_commands, server_commands,
		      stats_commands, diagnosis_commands, config_commands, generate_commands})
			for (const Command &command : part())
				all.push_back(command);
		return all;
	}();
	return kAll;
}

const std::vector<Alias> &aliases()
{
	static const std::vector<Alias> kAll = {
	    {"ls", "list"},
	    {"devices", "list"},
	    {"path delete", "path remove"},
	    {"path del", "path remove"},
	    {"path recover", "path reconnect"},
	    {"path re-add", "path readd"},
	    {"server export delete", "server export remove"},
	};
	return kAll;
}

const std::vector<Option> &global_options()
{
	static const std::vector<Option> kAll = {
	    {"output", 'o', "FORMAT", "table, json or csv", "table|json|csv"},
	    {"columns", 'c', "LIST", "columns to show, separated by commas; all for all", "", true},
	    {"raw", 0, "", "plain numbers without units, in tables"},
	    {"no-header", 0, "", "no line of titles"},
	    {"color", 0, "WHEN", "auto, always or never", "auto|always|never"},
	    {"dry-run", 'n', "", "print what would be written, and write nothing"},
	    {"timeout", 't', "SECONDS", "how long to wait for the kernel, 90 if not given"},
	    {"verbose", 'v', "", "say what is done, on stderr"},
	    {"root", 0, "FOLDER",
	     "look below FOLDER instead of /, such as at a copy of another machine's files",
	     "file"},
	    {"help", 'h', "", "help for the command"},
	    {"version", 0, "", "print the version"},
	};
	return kAll;
}

const char *group_summary(const std::string &group)
{
	struct Group {
		const char *name;
		const char *summary;
	};
	static const Group kGroups[] = {
	    {"session", "sessions: list, show, set, reconnect, disconnect"},
	    {"path", "paths of sessions: list, show, add, remove, disconnect, reconnect, readd"},
	    {"server", "the server's side: list, show, close, disconnect, pause, resume, export "
		       "add|remove|list"},
	    {"server export", "exports by name: list, add, remove"},
	    {"hca", "RDMA devices: list"},
	    {"generate", "man pages, completions, the JSON schema, systemd units"},
	};
	for (const Group &g : kGroups)
		if (group == g.name)
			return g.summary;
	return "";
}

} // namespace rnbdadm
