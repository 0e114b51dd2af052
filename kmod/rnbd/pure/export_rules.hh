// SPDX-License-Identifier: GPL-2.0
// Who may open an export, and how (the files below /sys/kernel/config/rnbd/exports/<name>). Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/pure/access.hh>
#include <rnbd/wire/units.hh>
#include <rtrs/pure/address_rule.hh>

namespace rnbd {

// `access` is the most that a client may ask for: shared also allows migration, each of the two rw,
// and all ro.
constexpr bool access_allowed(AccessMode most, AccessMode want)
{
	return static_cast<u8>(want) <= static_cast<u8>(most);
}

// Of a device that is opened by its path. That a disk is for several writers an administrator says.
constexpr AccessMode kMostWithoutExport = AccessMode::Migration;

// Names that a word of the list stands for. An empty list allows all.
constexpr bool session_allowed(TextView list, TextView session)
{
	return cxxrt::no_words(list) || cxxrt::any_word_stands_for(list, session);
}

// The same for keys: a list that has any is for those only who have proven one of them.
constexpr bool key_allowed(TextView list, TextView key)
{
	return cxxrt::no_words(list) || (!key.empty() && cxxrt::any_word_stands_for(list, key));
}

using rtrs::AddressRule;
using rtrs::HostAddress;

} // namespace rnbd
