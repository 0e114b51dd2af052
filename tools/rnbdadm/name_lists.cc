// SPDX-License-Identifier: GPL-2.0
// Names of sessions that keys open, through configfs.
#include "name_lists.hh"

#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <rtrs/pure/key_rules.hh>

namespace rnbdadm {

namespace {

std::string file_of(const std::string &key)
{
	return fmt::format("{}/{}/allowed_sessions", kNameLists, key);
}

std::string text_of(std::vector<std::string> words)
{
	std::sort(words.begin(), words.end());
	return join(words, " ");
}

} // namespace

std::vector<NameList> read_name_lists(const Host &host)
{
	std::vector<NameList> all;
	for (const std::string &key : host.list(kNameLists))
		all.push_back({key, split(host.text(file_of(key)))});
	return all;
}

void check_client_rule(const std::string &text)
{
	if (text.empty() || text.find_first_of(" \t\n") != std::string::npos ||
	    !rtrs::check_session_list(view(text)).ok())
		throw Failure(Exit::Usage, fmt::format("'{}' is no name of a session", text),
			      "it is a name, or 'name*' for all that begin so");
}

std::vector<std::array<std::string, 3>> name_list_differences(const NameList &wanted,
							      const NameList &running)
{
	const std::string want = text_of(wanted.clients), have = text_of(running.clients);
	if (want == have)
		return {};
	return {{"client", want, have}};
}

std::string set_name_list(Call &call, const NameList &wanted)
{
	need_server(call.host);
	if (!call.host.exists(kNameLists))
		throw Failure(Exit::Missing,
			      "the loaded module rtrs_server cannot bind names to keys");
	const std::string what = fmt::format("cannot set the names of key {}", wanted.key);
	const std::string folder = kNameLists + "/" + wanted.key;
	const bool fresh = !call.host.exists(folder);
	if (!fresh &&
	    name_list_differences(wanted, {"", split(call.host.text(file_of(wanted.key)))}).empty())
		return "unchanged";
	if (fresh && call.dry_run)
		call.out << fmt::format("make folder {}\n", folder);
	else if (int error = fresh ? call.host.make_folder(folder) : 0)
		throw Failure(exit_of(error),
			      fmt::format("{}: {}", what, words_of(error, Action::Configure)));
	try {
		call.write(file_of(wanted.key), join(wanted.clients, " "), Action::Configure, what);
	} catch (const Failure &) {
		if (fresh)
			call.host.remove_folder(folder);
		throw;
	}
	return fresh ? "made" : "changed";
}

void remove_name_list(Call &call, const std::string &key)
{
	const std::string folder = kNameLists + "/" + key;
	if (call.dry_run) {
		call.out << fmt::format("remove folder {}\n", folder);
		return;
	}
	if (int error = call.host.remove_folder(folder))
		throw Failure(exit_of(error), fmt::format("cannot remove the names of key {}: {}",
							  key, words_of(error, Action::Configure)));
}

} // namespace rnbdadm
