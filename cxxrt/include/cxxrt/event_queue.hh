// SPDX-License-Identifier: GPL-2.0
// Events that user space has not heard of yet, in their order. Pure.
//
// The queue is bounded, what happens is not: when there is no room, the oldest event that comes
// again later goes. So with room for more events than there are different ones, the last one of
// each goes out always, and in its place.
#pragma once

#include <cxxrt/types.hh>

namespace cxxrt {

// Events that are equal say the same of the same object.
template <class Event, u32 kRoom> class EventQueue {
public:
	void add(const Event &event)
	{
		if (count_ == kRoom)
			remove(oldest_repeated(event));
		events_[count_++] = event;
	}

	// The oldest one; false if there is none.
	bool take(Event &event)
	{
		if (!count_)
			return false;
		event = events_[0];
		remove(0);
		return true;
	}

private:
	// The oldest of all where none comes again.
	u32 oldest_repeated(const Event &added) const
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

} // namespace cxxrt
