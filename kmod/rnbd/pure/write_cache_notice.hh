// SPDX-License-Identifier: GPL-2.0
// What a client knows of the write cache of a device that it has open (protocol D.5). Pure.
//
// As long as it takes the device for one without a volatile cache it drops flushes, so the server
// has to make each write durable by itself. It learns by the entries of DEVICE_STATES, and has
// learnt when it says which answer it has acted upon: an answer can be lost with its path.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

class WriteCacheNotice {
public:
	// As OPEN told it.
	explicit constexpr WriteCacheNotice(bool writeback) : unaware_(!writeback) {}

	// The client may take it that there is no cache. Any context, no lock; the others are
	// called one after the other.
	bool unaware() const { return __atomic_load_n(&unaware_, __ATOMIC_RELAXED); }

	// An answer with that serial, not 0, is about to tell it.
	void tells(bool writeback, u32 serial)
	{
		if (!writeback) {
			set_unaware(true);
			told_ = 0;
		} else if (unaware_ && !told_) {
			told_ = serial;
		}
	}
	// The client has acted upon the answer with that serial, 0 for none.
	void followed(u32 serial)
	{
		if (!told_ || !serial || static_cast<s32>(serial - told_) < 0)
			return;
		told_ = 0;
		set_unaware(false);
	}

private:
	void set_unaware(bool v) { __atomic_store_n(&unaware_, v, __ATOMIC_SEQ_CST); }

	bool unaware_;
	u32 told_ = 0; // the first answer since which all have told of the cache; 0: none
};

// The serial after `serial`: never 0.
constexpr u32 next_serial(u32 serial)
{
	return serial + 1 ?: 1;
}

} // namespace rnbd
