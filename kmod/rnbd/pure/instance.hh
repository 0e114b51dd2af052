// SPDX-License-Identifier: GPL-2.0
// The number by which clients learn that the server may have lost writes that no flush covered
// (protocol D.5). It changes only when that can be: with the machine's boot. Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// From the kernel's random identifier of this boot, which is not told to clients as it is. 0 if
// the text is none: 32 hexadecimal digits, with dashes.
constexpr u64 instance_of_boot(cxxrt::TextView text)
{
	text = cxxrt::trim_newline(text);
	u64 folded = 0;
	u64 word = 0;
	unsigned digits = 0;
	for (usize i = 0; i < text.size(); i++) {
		if (text[i] == '-')
			continue;
		const unsigned digit = cxxrt::detail::digit_value(text[i]);
		if (digit >= 16)
			return 0;
		word = word << 4 | digit;
		if (++digits % 16 == 0)
			folded ^= word;
	}
	return digits == 32 ? folded | 1 : 0;
}

} // namespace rnbd
