// SPDX-License-Identifier: GPL-2.0
// Which generation of a key a client proves: the latest of those that are valid (protocol J.3).
// Pure.
//
// A keyring finds a key by its whole description and lists none, so generations are asked for one
// by one.
#pragma once

#include <rtrs/wire/key_name.hh>

namespace rtrs {

// So far behind the last one that is there the next one is looked for. Every attempt to connect
// does that, so it is few.
constexpr u32 kGenerationsAhead = 64;

// From the one that is known to be valid, or the first, without a gap of kGenerationsAhead; if
// there is none, through all: the client may come anew, or have been away for many.
// `read(KeyGeneration)` is a Status: ENOKEY where there is none. The error is that of the newest
// one that is there and not valid, or ENOKEY. At most kLastGeneration + kGenerationsAhead + 1
// calls.
template <class Read>
constexpr Result<KeyGeneration> find_latest_generation(KeyGeneration known, Read &&read)
{
	Error why = err::enokey;
	u32 found = 0;
	const auto look = [&](u32 g) {
		const Status s = read(KeyGeneration{g});
		if (s.ok())
			found = g;
		else if (!(s.error() == err::enokey))
			why = s.error();
		return s.ok();
	};
	// What is said to be known and no key has overflows nothing.
	u32 last = cxxrt::min_of(known.value, kLastGeneration) + kGenerationsAhead;
	for (u32 g = cxxrt::max_of(known.value, 1u); g <= last && g <= kLastGeneration; g++)
		if (look(g))
			last = g + kGenerationsAhead;
	if (!found)
		for (u32 g = 1; g <= kLastGeneration; g++)
			look(g);
	if (!found)
		return why;
	return KeyGeneration{found};
}

} // namespace rtrs
