// SPDX-License-Identifier: GPL-2.0
// server export ...: what this machine offers by name, and to whom.
#include "exports.hh"
#include "mapping.hh"
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
	for (const std::string &client : request.clients)
		if (client.empty() || client.find_first_of(" \t\n") != std::string::npos)
			throw Failure(
			    Exit::Usage,
			    fmt::format("--client: '{}' is no name of a session", client));
	for (const std::string &key : request.keys)
		check_key_rule(key);
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

// Rules as they are, where the command line does not say another one.
Exit export_set(Call &call)
{
	const Export running = one_export(call, call.arguments[0]);
	for (const char *rule : {"client", "key", "address"})
		if (call.has(rule) && call.has(fmt::format("any-{}", rule)))
			throw Failure(Exit::Usage, fmt::format("server export set: --{0} or "
							       "--any-{0}, not both",
							       rule));
	if (!call.has("access") && !call.has("client") && !call.has("any-client") &&
	    !call.has("key") && !call.has("any-key") && !call.has("address") &&
	    !call.has("any-address"))
		throw Failure(Exit::Usage, "server export set: say what shall change",
			      "usage: " + usage_of(call.command));
	ExportRequest wanted;
	wanted.name = running.name;
	wanted.device_path = running.device_path;
	wanted.access = call.value("access", running.access);
	if (!call.has("any-client"))
		wanted.clients = call.has("client") ? call.values("client")
						    : split(running.clients.value_or(""));
	if (!call.has("any-key"))
		wanted.keys =
		    call.has("key") ? call.values("key") : split(running.keys.value_or(""));
	if (!call.has("any-address"))
		for (const std::string &address : call.has("address")
						      ? call.values("address")
						      : split(running.addresses.value_or("")))
			wanted.addresses.push_back(check_address_rule(address));
	check_rules(wanted);
	// Whether it is enabled is for enable and disable.
	Export rules = running;
	rules.enabled.reset();
	change_export(call, rules, wanted);
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
	if (!on && e.users.value_or(0) && !call.has("force"))
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
	request.access = call.value("access", "");
	for (const std::string &client : call.values("client"))
		request.clients.push_back(client);
	request.keys = call.values("key");
	for (const std::string &address : call.values("address"))
		request.addresses.push_back(check_address_rule(address));
	check_rules(request);
	add_export(call, request);
	// That is legal: it may come later, as a logical volume that is not active yet.
	if (!call.host.exists(request.device_path))
		call.terminal.err << fmt::format(
		    "{} does not exist now: clients cannot use the export "
		    "before it does\n",
		    request.device_path);
	return Exit::Done;
}

Exit export_remove(Call &call)
{
	// The unit that stops a server removes what there is.
	if (!call.has("all"))
		need_export_list(call.host);
	std::vector<Export> exports = read_exports(call.host);
	std::vector<std::string> names;
	for (const Export &e : exports)
		names.push_back(e.name);
	if (call.has("all") == !call.arguments.empty())
		throw Failure(Exit::Usage, "server export remove: name exports, or give --all");
	const std::vector<std::string> &chosen = call.has("all") ? names : call.arguments;
	return call.each(chosen.size(), [&](std::size_t i) {
		const std::string &name = chosen[i];
		if (!std::count(names.begin(), names.end(), name))
			throw Failure(Exit::NotFound, fmt::format("there is no export '{}'{}", name,
								  did_you_mean(name, names)));
		remove_export(call, name);
	});
}

} // namespace

std::vector<Command> export_commands()
{
	const Argument name = {"NAME", "name of the export", "export"};
	const Argument names = {"NAME", "name of an export", "export", true, true};
	const Option access = {"access", 'a', "MODE",
			       "the most that clients may ask for: ro, rw, migration or shared",
			       "ro|rw|migration|shared"};
	const Option client = {
	    "client",
	    0,
	    "SESSION",
	    "session that may use it, or 'name*' for all that begin so; without, all may",
	    "",
	    true};
	const Option key = {
	    "key",
	    0,
	    "KEY",
	    "key that its clients have to have proven, 'name*' for all that begin so, '*' for any; "
	    "without, no proof is needed",
	    "key",
	    true};
	const Option address = {
	    "address",
	    0,
	    "ADDRESS[/BITS]",
	    "address or range that all paths of its clients come from; without, any",
	    "",
	    true};
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
	    {"server export add",
	     "offer a block device to clients by a name",
	     "Clients map it by NAME and do not learn where it lies. The export lasts until it is "
	     "removed "
	     "or the module is unloaded; for ever is what rnbd.conf(5) says. "
	     "While there is an export, the module cannot be unloaded.",
	     {{"NAME", "name for the clients"}, {"DEVICE", "block device of this machine", "file"}},
	     {access, client, key, address},
	     {{"rnbdadm server export add vm1 /dev/vg0/vm1 --client host7 --address 10.0.0.0/30",
	       ""},
	      {"rnbdadm server export add vm1 /dev/vg0/vm1 --key host7", ""}},
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
	      client,
	      {"any-client", 0, "", "every session may use it"},
	      key,
	      {"any-key", 0, "", "no proof is needed"},
	      address,
	      {"any-address", 0, "", "clients may come from anywhere"}},
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
	     {{"force", 'f', "", "close out the clients that have it open; their I/O fails"}},
	     {{"rnbdadm server export disable vm1", ""}},
	     nullptr,
	     export_disable},
	    {"server export remove",
	     "end an export",
	     "One that a client has open stays, unless --force is given.",
	     {{"NAME", "name of the export", "export", false, true}},
	     {{"all", 0, "", "every export"},
	      {"force", 'f', "", "close out the clients that have it open; their I/O fails"}},
	     {{"rnbdadm server export remove vm1", ""}},
	     nullptr,
	     export_remove},
	};
}

} // namespace rnbdadm
