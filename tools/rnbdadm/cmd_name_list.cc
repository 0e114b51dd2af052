// SPDX-License-Identifier: GPL-2.0
// server key ...: which names of sessions a key opens.
#include "mapping.hh"
#include "name_lists.hh"
#include "text.hh"

#include <algorithm>

#include <fmt/format.h>
#include <rtrs/wire/key_name.hh>

namespace rnbdadm {

namespace {

Exit list_all(Call &call)
{
	need_server(call.host);
	print_rows(call.out, kNameListKind, to_rows(read_name_lists(call.host)), call.style);
	return Exit::Done;
}

Exit set(Call &call)
{
	const NameList wanted = {call.arguments[0], call.values(opt::kClients)};
	if (!rtrs::check_key_name(view(wanted.key)).ok())
		throw Failure(Exit::Usage,
			      fmt::format("'{}' cannot be the name of a key", wanted.key));
	if (wanted.clients.empty())
		throw Failure(Exit::Usage, "server key set: say which sessions it opens",
			      "usage: " + usage_of(call.command));
	for (const std::string &client : wanted.clients)
		check_client_rule(client);
	set_name_list(call, wanted);
	return Exit::Done;
}

Exit remove(Call &call)
{
	std::vector<std::string> known;
	for (const NameList &list : read_name_lists(call.host))
		known.push_back(list.key);
	if (call.has(opt::kAll) == !call.arguments.empty())
		throw Failure(Exit::Usage, "server key remove: name keys, or give --all");
	const std::vector<std::string> &chosen = call.has(opt::kAll) ? known : call.arguments;
	return call.each(chosen.size(), [&](std::size_t i) {
		if (!std::count(known.begin(), known.end(), chosen[i]))
			throw Failure(Exit::NotFound,
				      fmt::format("key '{}' has no list of names{}", chosen[i],
						  did_you_mean(chosen[i], known)));
		remove_name_list(call, chosen[i]);
	});
}

} // namespace

std::vector<Command> name_list_commands()
{
	return {
	    {"server key list",
	     "list which names of sessions the keys open",
	     "A key without a line opens every name that is in none of them.",
	     {},
	     {},
	     {{"rnbdadm server key list", ""}},
	     &kNameListKind,
	     list_all},
	    {"server key set",
	     "bind names of sessions to a key",
	     "Clients that have proven the key may call their sessions so, and no other way; "
	     "nobody "
	     "else may, with another key or without one, unless its list has the name as well. "
	     "Several --client are one new list. Sessions that it does not allow end within two "
	     "seconds. It lasts until it is removed or the module is unloaded; for ever is what "
	     "rnbd.conf(5) says. While there is a list, the module cannot be unloaded.",
	     {{"KEY", "name of the key", "key-list"}},
	     {{opt::kClients, "session that it opens, or 'name*' for all that begin so"}},
	     {{"rnbdadm server key set client7 --client client7 --client web-*", ""}},
	     nullptr,
	     set},
	    {"server key remove",
	     "let a key open any name that is nobody's, and others its names",
	     "The key itself stays: rnbdadm-key-remove(8) ends that.",
	     {{"KEY", "name of the key", "key-list", false, true}},
	     {{opt::kAll, "the lists of all keys"}},
	     {{"rnbdadm server key remove client7", ""}},
	     nullptr,
	     remove},
	};
}

} // namespace rnbdadm
