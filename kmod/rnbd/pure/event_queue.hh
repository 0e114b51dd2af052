// SPDX-License-Identifier: GPL-2.0
// Events that user space has not heard of yet, in their order. Pure.
//
// The queue is bounded, what befalls a device is not: when there is no room, the oldest event that
// comes again later goes. So the last one of each kind goes out always, and in its place.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

// `Event` has values below `kKinds`.
template <class Event, u32 kKinds> class EventQueue {
public:
	enum : u32 { kRoom = kKinds + 2 };

	void add(Event event)
	{
		if (count_ == kRoom)
			remove(oldest_repeated(event));
		events_[count_++] = event;
	}

	u32 count() const { return count_; }
	Event operator[](u32 i) const { return events_[i]; }

private:
	// With more events than kinds there is one.
	u32 oldest_repeated(Event added) const
	{
		for (u32 i = 0; i < count_; i++) {
			if (events_[i] == added)
				return i;
			for (u32 k = i + 1; k < count_; k++)
				if (events_[k] == events_[i])
					return i;
		}
		return 0;
	}
	void remove(u32 at)
	{
		for (count_--; at < count_; at++)
			events_[at] = events_[at + 1];
	}

	Event events_[kRoom] = {};
	u32 count_ = 0;
};

} // namespace rnbd
