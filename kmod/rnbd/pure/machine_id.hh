// SPDX-License-Identifier: GPL-2.0
// Texts by which hardware says who it is. Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// Without what drivers and firmware fill their fields up with.
constexpr TextView trim_blanks(TextView t)
{
	auto blank = [](char c) {
		return static_cast<unsigned char>(c) <= ' ';
	};
	while (!t.empty() && blank(t[0]))
		t = t.skip(1);
	while (!t.empty() && blank(t[t.size() - 1]))
		t = t.first(t.size() - 1);
	return t;
}

// Whether the text, which may be null, can be the UUID of one machine: 32 hexadecimal digits with
// dashes, and not what vendors leave in there: one digit throughout, or a running number that is
// known for being sold many times.
constexpr bool is_machine_uuid(const char *text)
{
	if (!text)
		return false;
	const TextView uuid = trim_blanks(TextView::of(text));
	usize digits = 0;
	bool all_same = true;
	for (usize i = 0; i < uuid.size(); i++) {
		if (uuid[i] == '-')
			continue;
		if (cxxrt::detail::digit_value(uuid[i]) >= 16)
			return false;
		all_same = all_same && uuid[i] == uuid[0];
		digits++;
	}
	if (digits != 32 || all_same)
		return false;
	constexpr TextView kSoldManyTimes[] = {
	    "03000200-0400-0500-0006-000700080009",
	    "00020003-0004-0005-0006-000700080009",
	    "12345678-1234-5678-90ab-cddeefaabbcc",
	};
	for (const TextView &known : kSoldManyTimes) {
		if (known.size() != uuid.size())
			continue;
		bool same = true;
		for (usize i = 0; i < uuid.size(); i++)
			same = same && (uuid[i] == known[i] ||
					(uuid[i] >= 'A' && uuid[i] - 'A' + 'a' == known[i]));
		if (same)
			return false;
	}
	return true;
}

} // namespace rnbd
