// SPDX-License-Identifier: GPL-2.0
// Which names of sessions a key opens on this server: /sys/kernel/config/rtrs/keys. Names only:
// the secrets are those of keys.hh.
#pragma once

#include "command.hh"

#include <array>

namespace rnbdadm {

inline const std::string kNameLists = "/sys/kernel/config/rtrs/keys";

struct NameList {
	std::string key;
	std::vector<std::string> clients; // names of sessions, or "name*"
};

extern const Kind kNameListKind;
Json to_json(const NameList &list);

// None where the module has no such lists.
std::vector<NameList> read_name_lists(const Host &host);
// A name of a session, or "name*". Failure (Usage) if it is none.
void check_client_rule(const std::string &text);
// What differs, as (key, configured, running).
std::vector<std::array<std::string, 3>> name_list_differences(const NameList &wanted,
							      const NameList &running);
// "made", "changed" or "unchanged". Failure (Missing) if the module has no such lists.
std::string set_name_list(Call &call, const NameList &wanted);
void remove_name_list(Call &call, const std::string &key);

} // namespace rnbdadm
