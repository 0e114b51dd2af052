// SPDX-License-Identifier: GPL-2.0
// Names and generations of keys (protocol J.3). Pure.
//
// A name stands for a pair of machines, or for a group of them, and never changes; each secret that
// is ever behind it has a generation of its own, so that two are valid while one follows the other.
// Names are no secret. They travel in clear and are shown.
#pragma once

#include <rtrs/wire/checked_name.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// Storage for a name, terminator included.
constexpr u32 kKeyNameSize = 64;

// The last one that a key can have: clients look for them one by one. With a new secret each week
// it lasts for 78 years.
constexpr u32 kLastGeneration = 4096;

// Never 0; what a peer says may be larger, and is no key then.
struct KeyGeneration {
	u32 value;
	constexpr bool operator==(const KeyGeneration &) const = default;
};

// EINVAL unless 1 to 63 letters, digits, '-', '_' or '.', the first of which is a letter or a
// digit: a name is a part of names of files, and of descriptions of keys, which ':' divides.
constexpr Status check_key_name(TextView name)
{
	if (name.empty() || name.size() >= kKeyNameSize)
		return err::einval;
	for (usize i = 0; i < name.size(); i++) {
		const char c = name[i];
		const bool letter_or_digit =
		    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		const bool mark = c == '-' || c == '_' || c == '.';
		if (!letter_or_digit && (!mark || i == 0))
			return err::einval;
	}
	return {};
}

struct KeyNameRule {
	enum : u32 { kSize = kKeyNameSize };
	static constexpr Status check(TextView name) { return check_key_name(name); }
};
using KeyName = CheckedName<KeyNameRule>;

} // namespace rtrs
