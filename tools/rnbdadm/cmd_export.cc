// SPDX-License-Identifier: GPL-2.0
// server export ...: what this machine offers by name, and to whom.
#include "bypass.hh"
#include "diagnosis.hh"
#include "exports.hh"
#include "keys.hh"
#include "mapping.hh"
#include "names.hh"
#include "saving.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// Before anything is written: the kernel's EINVAL names no option.
void check_rules(const ExportRequest &request)
{
	const std::vector<std::string> modes = access_modes();
	if (!request.access.empty() && !std::count(modes.begin(), modes.end(), request.access))
		throw Failure(Exit::Usage,
			      fmt::format("--access: '{}' is not one of {}{}", request.access,
					  join(modes, ", "), did_you_mean(request.access, modes)));
	if (!request.local_use.empty())
		check_local_use(request.local_use);
	for (const std::string &client : request.clients)
		if (client.empty() || client.find_first_of(" \t\n") != std::string::npos)
			throw Failure(
			    Exit::Usage,
			    fmt::format("--client: '{}' is no name of a session", client));
	for (const std::string &key : request.keys)
		check_key_rule(key);
}

// Rules of a command line. What a name was resolved to is said with --verbose and --dry-run.
std::vector<std::string> rules_of(const Call &call, const std::vector<std::string> &words)
{
	for (const std::string &word : words)
		if (is_host_name(word) && (call.verbose || call.dry_run))
			call.terminal.err << printable(fmt::format(
			    "{} is {}\n", word, join(addresses_of(call.host, word), " ")));
	return resolved_rules(call.host, words);
}

// Of an export that was made or changed: that its rules are no bar.
void warn_of_bypass(Call &call, const ExportRequest &request)
{
	const bool has_rules =
	    !request.clients.empty() || !request.keys.empty() || !request.addresses.empty();
	if (has_rules && opens_by_path(call.host, request.device_path) && !is_meant_open(call.host))
		call.terminal.err << printable(fmt::format(
		    "the rules of {} keep nobody out: clients can open {} by its path all the "
		    "same, as rnbd_server was loaded with exports_only=N\n  {}\n",
		    request.name, request.device_path, kCloseBypass));
}

// That nobody can use it by a key that nobody has.
void warn_of_keys(Call &call, const ExportRequest &request)
{
	for (const auto &[what, advice] : missing_keys(call.host, request.keys))
		call.terminal.err << printable(
		    fmt::format("export {}: {}\n  {}\n", request.name, what, advice));
}

Exit export_list(Call &call)
{
	need_export_list(call.host);
	print_rows(call.out, kExportKind, to_rows(read_exports(call.host)), call.style);
	return Exit::Done;
}

Export one_export(const Call &call, const std::string &name)
{
	need_export_list(call.host);
	std::vector<std::string> names;
	for (const Export &e : read_exports(call.host)) {
		if (e.name == name)
			return e;
		names.push_back(e.name);
	}
	throw Failure(Exit::NotFound,
		      fmt::format("there is no export '{}'{}", name, did_you_mean(name, names)));
}

Exit export_show(Call &call)
{
	print_one(call.out, kExportKind, to_json(one_export(call, call.arguments[0])), call.style);
	return Exit::Done;
}

Exit export_explain(Call &call)
{
	const Export e = one_export(call, call.arguments[0]);
	std::optional<ExportClient> client;
	if (call.has(opt::kSession) || call.has(opt::kKey) || call.has(opt::kFrom))
		client = ExportClient{call.value(opt::kSession), call.value(opt::kKey),
				      call.value(opt::kFrom)};
	if (client && !client->address.empty())
		check_address_rule(client->address);
	const std::vector<Finding> findings = explain_export(call.host, e, client);
	print_findings(call, findings);
	return has_problem(findings) ? Exit::Differs : Exit::Done;
}

// Rules as they are, where the command line does not say another one.
Exit export_set(Call &call)
{
	const Export running = one_export(call, call.arguments[0]);
	// Of a rule, those that are given, or the word that there is none; else those that run.
	bool changes = call.has(opt::kAccess) || call.has(opt::kLocalUse);
	auto rule = [&](const ListKey &list, const FlagKey &any, const std::string &now) {
		if (call.has(list) && call.has(any))
			throw Failure(Exit::Usage, fmt::format("server export set: --{} or "
							       "--{}, not both",
							       list.name, any.name));
		changes = changes || call.has(list) || call.has(any);
		if (call.has(any))
			return std::vector<std::string>();
		return call.has(list) ? call.values(list) : split(now);
	};
	ExportRequest wanted;
	wanted.clients = rule(opt::kClients, opt::kAnyClient, running.clients.value_or(""));
	wanted.keys = rule(opt::kKeys, opt::kAnyKey, running.keys.value_or(""));
	wanted.addresses =
	    rules_of(call, rule(opt::kAddresses, opt::kAnyAddress, running.addresses.value_or("")));
	if (!changes)
		throw Failure(Exit::Usage, "server export set: say what shall change",
			      "usage: " + usage_of(call.command));
	wanted.name = running.name;
	wanted.device_path = running.device_path;
	wanted.access = call.value(opt::kAccess, running.access);
	wanted.local_use = call.value(opt::kLocalUse, "");
	check_rules(wanted);
	// Whether it is enabled is for enable and disable.
	Export rules = running;
	rules.enabled.reset();
	change_export(call, rules, wanted);
	warn_of_keys(call, wanted);
	warn_of_bypass(call, wanted);
	return Exit::Done;
}

void switch_export(Call &call, const std::string &name, bool on)
{
	const Export e = one_export(call, name);
	if (!e.enabled)
		throw Failure(Exit::Missing,
			      "the loaded module rnbd_server cannot disable one export");
	if (*e.enabled == (on ? "1" : "0"))
		return;
	if (!on && e.users.value_or(0) && !call.has(opt::kForce))
		throw Failure(Exit::Busy,
			      fmt::format("cannot disable export {}: sessions have it open: {}",
					  name, *e.users),
			      "give --force to close them out; their I/O fails then");
	call.write(e.folder + "/enable", on ? "1" : "0", Action::Export,
		   fmt::format("cannot {} export {}", on ? "enable" : "disable", name));
}

Exit export_enable(Call &call)
{
	return call.each(call.arguments.size(),
			 [&](std::size_t i) { switch_export(call, call.arguments[i], true); });
}

Exit export_disable(Call &call)
{
	return call.each(call.arguments.size(),
			 [&](std::size_t i) { switch_export(call, call.arguments[i], false); });
}

Exit export_add(Call &call)
{
	ExportRequest request;
	request.name = call.arguments[0];
	request.device_path = call.arguments[1];
	request.access = call.value(opt::kAccess, "");
	request.local_use = call.value(opt::kLocalUse, "");
	for (const std::string &client : call.values(opt::kClients))
		request.clients.push_back(client);
	request.keys = call.values(opt::kKeys);
	const std::vector<std::string> addresses = call.values(opt::kAddresses);
	request.addresses = rules_of(call, addresses);
	check_rules(request);
	if (call.has(opt::kSave)) {
		// Names of machines are saved as such.
		request.addresses = addresses;
		request = add_export_and_save(call, request);
	} else {
		add_export(call, request);
	}
	// That is legal: it may come later, as a logical volume that is not active yet.
	if (!call.host.exists(request.device_path))
		call.terminal.err << fmt::format(
		    "{} does not exist now: clients cannot use the export "
		    "before it does\n",
		    request.device_path);
	warn_of_keys(call, request);
	warn_of_bypass(call, request);
	return Exit::Done;
}

Exit export_remove(Call &call)
{
	const bool save = call.has(opt::kSave);
	// The unit that stops a server removes what there is; what is configured may not run.
	if (!call.has(opt::kAll) && !(save && !server_loaded(call.host)))
		need_export_list(call.host);
	std::vector<Export> exports = read_exports(call.host);
	std::vector<std::string> names;
	for (const Export &e : exports)
		names.push_back(e.name);
	if (call.has(opt::kAll) == !call.arguments.empty())
		throw Failure(Exit::Usage, "server export remove: name exports, or give --all");
	const std::vector<std::string> &chosen = call.has(opt::kAll) ? names : call.arguments;
	// True if it is not there any more.
	auto end = [&](std::size_t i) {
		const std::string &name = chosen[i];
		if (std::count(names.begin(), names.end(), name))
			remove_export(call, name);
		else if (!save || !read_config(call.host).exported(name))
			throw Failure(Exit::NotFound, fmt::format("there is no export '{}'{}", name,
								  did_you_mean(name, names)));
		return true;
	};
	if (!save)
		return call.each(chosen.size(), end);
	return end_each(call, chosen.size(), end,
			[&](ConfigEdit &edit, std::size_t i) { edit.remove_export(chosen[i]); });
}

} // namespace

std::vector<Command> export_commands()
{
	const Argument name = {"NAME", "name of the export", "export"};
	const Argument names = {"NAME", "name of an export", "export", true, true};
	const Option access = {opt::kAccess,
			       "the most that clients may ask for: ro, rw, migration or shared"};
	const Option local_use = {
	    opt::kLocalUse,
	    "exclusive: clients and this machine keep each other out of the device; shared: both "
	    "use it. Exclusive if not given"};
	const Option client = {
	    opt::kClients,
	    "session that may use it, or 'name*' for all that begin so; without, all may"};
	const Option key = {
	    opt::kKeys,
	    "key that its clients have to have proven, 'name*' for all that begin so, '*' for any, "
	    "'name:ro' for those that may read only; without, no proof is needed"};
	const Option address = {opt::kAddresses, "address or range that all paths of its clients "
						 "come from, or a machine by its name, of "
						 "which all addresses are taken; without, any"};
	return {
	    {"server export list",
	     "list the exports",
	     "Block devices that this machine offers by name.",
	     {},
	     {},
	     {{"rnbdadm server export list", ""}},
	     &kExportKind,
	     export_list},
	    {"server export show",
	     "show all about an export",
	     "",
	     {name},
	     {},
	     {{"rnbdadm server export show vm1", ""}},
	     &kExportKind,
	     export_show},
	    {"server export explain",
	     "say why clients cannot have an export, and what to do next",
	     "Looks at the server, the export, its device, the keys that it asks for, the sessions "
	     "that have it open and the refusals so far. With --session, --key or --from it says "
	     "what "
	     "the rules say to such a client: one that has proven that key, or none, and comes "
	     "from "
	     "that address. Exits with 12 if there is a problem.",
	     {name},
	     {{opt::kSession, "name of the client's session"},
	      {opt::kKey, "key that it has proven"},
	      {opt::kFrom, "address that it comes from"}},
	     {{"rnbdadm server export explain vm1", ""},
	      {"rnbdadm server export explain vm1 --session host7 --key host7 --from 192.0.2.7",
	       "would host7 get it?"}},
	     &kFindingKind,
	     export_explain},
	    {"server export add",
	     "offer a block device to clients by a name",
	     "Clients map it by NAME and do not learn where it lies. The export lasts until it is "
	     "removed "
	     "or the module is unloaded; for ever is what rnbd.conf(5) says, to which --save adds "
	     "it. "
	     "While there is an export, the module cannot be unloaded.\n\n"
	     "--save refuses a configuration with mistakes, and an export that is configured "
	     "or runs with other rules. One that runs with these rules is saved; one that "
	     "is saved already changes nothing.",
	     {{"NAME", "name for the clients"}, {"DEVICE", "block device of this machine", "file"}},
	     {access,
	      local_use,
	      client,
	      key,
	      address,
	      {opt::kSave, "write it to /etc/rnbd/rnbd.conf as well, for each start"}},
	     {{"rnbdadm server export add vm1 /dev/vg0/vm1 --client host7 --address 10.0.0.0/30",
	       ""},
	      {"rnbdadm server export add vm1 /dev/vg0/vm1 --key host7", ""},
	      {"rnbdadm server export add vm1 /dev/vg0/vm1 --key host7 --save",
	       "and at each start of the server"}},
	     nullptr,
	     export_add},
	    {"server export set",
	     "change the rules of an export",
	     "What is not named stays. A list is given as a whole: several --client, --key or "
	     "--address "
	     "are one new list. Clients that have it open and are not allowed any more are closed "
	     "out: their I/O fails. Another device is another export.",
	     {name},
	     {access,
	      local_use,
	      client,
	      {opt::kAnyClient, "every session may use it"},
	      key,
	      {opt::kAnyKey, "no proof is needed"},
	      address,
	      {opt::kAnyAddress, "clients may come from anywhere"}},
	     {{"rnbdadm server export set vm1 --access ro", ""},
	      {"rnbdadm server export set gfs --access shared --client 'node*'",
	       "for a cluster file system"},
	      {"rnbdadm server export set vm1 --client host7 --client host8 --any-address", ""}},
	     nullptr,
	     export_set},
	    {"server export enable",
	     "let clients open exports again",
	     "",
	     {names},
	     {},
	     {{"rnbdadm server export enable vm1", ""}},
	     nullptr,
	     export_enable},
	    {"server export disable",
	     "let no client open an export, and keep its rules",
	     "One that a client has open stays as it is, unless --force is given.",
	     {names},
	     {{opt::kForce, "close out the clients that have it open; their I/O fails"}},
	     {{"rnbdadm server export disable vm1", ""}},
	     nullptr,
	     export_disable},
	    {"server export remove",
	     "end an export",
	     "One that a client has open stays, unless --force is given. --save takes the section "
	     "of each that is removed out of the configuration, whose comments and other sections "
	     "stay; an export that is configured and not there is taken out, too.",
	     {{"NAME", "name of the export", "export", false, true}},
	     {{opt::kAll, "every export"},
	      {opt::kForce, "close out the clients that have it open; their I/O fails"},
	      {opt::kSave, "take it out of the configuration as well"}},
	     {{"rnbdadm server export remove vm1", ""},
	      {"rnbdadm server export remove vm1 --save", "for good"}},
	     nullptr,
	     export_remove},
	};
}

} // namespace rnbdadm
