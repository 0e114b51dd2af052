// SPDX-License-Identifier: GPL-2.0
// How many paths of a server's session are open, and whether it has ended (protocol J.1). Pure.
//
// A session begins without a path, waits for its first one, and ends when the last one that is open
// begins to close, for good: whoever would add a path to it afterwards, or at the same time, is
// told so. Any context, any number of threads.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

class OpenPaths {
public:
	enum class Entry : u8 {
		Entered,
		Full,  // the protocol's number of paths is open
		Ended, // the session has ended
	};

	Entry enter()
	{
		u32 seen = __atomic_load_n(&count_, __ATOMIC_ACQUIRE);
		for (;;) {
			if (!seen)
				return Entry::Ended;
			if (seen == kMaxPaths)
				return Entry::Full;
			const u32 next = seen == kFresh ? 1u : seen + 1;
			if (__atomic_compare_exchange_n(&count_, &seen, next, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return Entry::Entered;
		}
	}
	// Of one who entered.
	void leave() { __atomic_fetch_sub(&count_, 1, __ATOMIC_ACQ_REL); }
	bool ended() const { return !__atomic_load_n(&count_, __ATOMIC_ACQUIRE); }

private:
	enum : u32 { kFresh = ~u32{0} };

	u32 count_ = kFresh;
};

} // namespace rtrs
