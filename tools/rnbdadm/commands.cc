// SPDX-License-Identifier: GPL-2.0
// The table of commands, put together.
#include "mapping.hh"

namespace rnbdadm {

const std::vector<Command> &commands()
{
	static const std::vector<Command> kAll = [] {
		std::vector<Command> all;
		for (auto part :
		     {map_commands, recover_commands, discover_commands, list_commands,
		      hca_commands, session_commands, server_commands, server_stats_commands,
		      export_commands, name_list_commands, reservation_commands, key_commands,
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
	    {"key delete", "key remove"},
	    {"server export delete", "server export remove"},
	    {"server key delete", "server key remove"},
	};
	return kAll;
}

const std::vector<Option> &global_options()
{
	static const std::vector<Option> kAll = {
	    {opt::kOutput, "table, json or csv"},
	    {opt::kColumns,
	     "columns to show, separated by commas; all for all, +NAME and -NAME add to and take "
	     "from those that are shown anyway"},
	    {opt::kRaw, "plain numbers without units, in tables"},
	    {opt::kUnits,
	     "unit of sizes in tables: auto, for short numbers, or B, KiB, MiB, GiB or TiB"},
	    {opt::kNoHeader, "no line of titles"},
	    {opt::kColor, "auto, always or never"},
	    {opt::kDryRun, "print what would be written, and write nothing"},
	    {opt::kTimeout, "how long to wait for the kernel, 90 if not given"},
	    {opt::kVerbose, "say what is done, on stderr"},
	    {opt::kRoot,
	     "look below FOLDER instead of /, such as at a copy of another machine's files"},
	    {opt::kHelp, "help for the command"},
	    {opt::kVersion, "print the version"},
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
	    {"server", "the server's side: list, show, close, disconnect, pause, resume, "
		       "reservations, clear-reservations, export "
		       "list|show|add|set|enable|disable|remove, key list|set|remove"},
	    {"server export",
	     "exports by name: list, show, explain, add, set, enable, disable, remove"},
	    {"server key", "names of sessions that keys open: list, set, remove"},
	    {"key",
	     "keys by which machines prove who they are: generate, add, list, show-fingerprint, "
	     "check, load, remove, rotate"},
	    {"hca", "RDMA devices: list, add, remove"},
	    {"generate", "man pages, completions, the JSON schema, systemd units"},
	};
	for (const Group &g : kGroups)
		if (group == g.name)
			return g.summary;
	return "";
}

} // namespace rnbdadm
