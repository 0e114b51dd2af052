// SPDX-License-Identifier: GPL-2.0
// Whether a send queue stands still with work in it, and is to be woken. Pure.
//
// A device can forget that it has work. The one that does is soft-RoCE before 6.11: a guard of
// registrations (Registration in rtrs/core/memory.hh) waits there until all before it is
// acknowledged, and when the last acknowledgement comes in between its look and its wait, nobody
// wakes it but the next post. There is none where requests wait for that guard themselves. The
// interrupt of a completion can be lost, too, on any device. Either is over with one more post that
// asks for a completion.
//
// A queue that stands still for other reasons, a link that is down or a peer without receives, is
// woken in vain: after 1, 2, 4, 8 ... looks, so seldom in the end. One that is idle is woken once
// after it was used, because its last work requests asked for no completion; then nothing is open.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

class SqWatchdog {
public:
	// A look, one of many at equal intervals. `place`: the number of the completion that covers
	// all that was posted; `completed`: how many have come; `asked`: the last that somebody has
	// asked for (SqAccounting). True: wake it now.
	constexpr bool look(u64 place, u64 completed, u64 asked = 0)
	{
		helped_ = woken_for_ && completed >= woken_for_;
		woken_for_ = 0;
		if (place == completed || completed != completed_) {
			completed_ = completed;
			looks_ = 0;
			return false;
		}
		looks_++;
		const bool wake = (looks_ & (looks_ - 1)) == 0;
		woken_for_ = wake && asked > completed ? asked : 0;
		return wake;
	}
	// Whether completions that were awaited when the look before woke the queue have come
	// since. Where no device forgets and no link is slow that means that a wake-up was lost
	// here.
	constexpr bool helped() const { return helped_; }

	// How many looks have seen no more than the one before them.
	constexpr u64 stands_still() const { return looks_; }

private:
	u64 completed_ = 0; // at the last look
	u64 looks_ = 0;	    // since the first that saw no more than that
	u64 woken_for_ = 0; // the last completion that was awaited when the last look woke it
	bool helped_ = false;
};

} // namespace rtrs
