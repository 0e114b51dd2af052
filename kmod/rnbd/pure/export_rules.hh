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

// A word of a list of keys, without what it says of access.
constexpr TextView kReadOnlyMark = ":ro";
constexpr TextView name_of_key_word(TextView word)
{
	if (word.size() < kReadOnlyMark.size())
		return word;
	const usize rest = word.size() - kReadOnlyMark.size();
	return word.skip(rest) == kReadOnlyMark ? word.first(rest) : word;
}

// The most that a session may ask for which has proven `key`, or none if that is empty, of an
// export with `most`. An empty list allows all; one that has any word is for those only who have
// proven a key that a word stands for, to read alone if one of these words says ":ro". EACCES.
constexpr Result<AccessMode> access_by_key(TextView list, TextView key, AccessMode most)
{
	if (cxxrt::no_words(list))
		return most;
	bool reads = false;
	bool all = false;
	if (!key.empty())
		cxxrt::any_word(list, [&](TextView word) {
			const TextView name = name_of_key_word(word);
			if (cxxrt::any_word_stands_for(name, key))
				(name.size() < word.size() ? reads : all) = true;
			return false;
		});
	if (!reads && !all)
		return err::eacces;
	return reads ? AccessMode::ReadOnly : most;
}

using rtrs::AddressRule;
using rtrs::HostAddress;

} // namespace rnbd
