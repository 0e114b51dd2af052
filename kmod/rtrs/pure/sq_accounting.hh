// SPDX-License-Identifier: GPL-2.0
// Accounting of one send queue: what fits, and which work requests ask for a completion. Pure.
//
// Work requests of a chain leave the queue in order, so one signaled completion retires all that
// were posted up to it. The accounting remembers, for each signaled one, how many it will retire.
// Rules it keeps:
//  - never more work requests outstanding than the capacity;
//  - whenever a chain is refused for lack of room, a signaled completion is outstanding, so there
//    will be room;
//  - a completion too many retires nothing;
//  - signaled ones complete in the order in which they were posted, so their number is a place in
//    the queue: covers(place) says whether all that was posted up to there has left it. Places are
//    64 bits wide, because a request may wait for hours while others go by.
// All calls of one SqAccounting are under the lock of its connection, which is also held while
// posting, so that the order of reservations is the order in the queue.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

enum class SendPermit : u8 {
	Full,	    // no room: nothing was reserved, try again after a completion
	Unsignaled, // post; the last work request without IB_SEND_SIGNALED
	Signaled,   // post; the last work request with IB_SEND_SIGNALED, retire() on its completion
};

class SqAccounting {
public:
	// `capacity`: work requests that the queue holds. `interval`: after so many requests a
	// chain is signaled. `max_chain`: the longest chain that will ever be reserved, <=
	// capacity.
	constexpr SqAccounting(u32 capacity, u32 interval, u32 max_chain)
	    : capacity_(capacity), interval_(interval ? interval : 1),
	      max_chain_(max_chain ? max_chain : 1)
	{
	}

	// Room for a chain of `wrs` > 0 work requests, which does the work of `requests` requests.
	// `must_signal` if the caller needs the completion of the last one for itself.
	constexpr SendPermit reserve(u32 wrs, bool must_signal = false, u32 requests = 1)
	{
		if (wrs == 0 || wrs > free())
			return SendPermit::Full;
		used_ += wrs;
		open_wrs_ += wrs;
		open_requests_ += requests;
		bool last_fit = free() < max_chain_;
		if (!must_signal && !last_fit && open_requests_ < interval_)
			return SendPermit::Unsignaled;
		close_group();
		return SendPermit::Signaled;
	}

	// The chain of the last reserve() was not posted at all. Same lock section as reserve().
	constexpr void cancel(u32 wrs, SendPermit permit, u32 requests = 1)
	{
		if (permit == SendPermit::Full)
			return;
		if (permit == SendPermit::Signaled)
			reopen_group();
		wrs = cxxrt::min_of(wrs, open_wrs_);
		open_wrs_ -= wrs;
		used_ -= wrs;
		open_requests_ -= cxxrt::min_of(requests, open_requests_);
	}

	// The completion that covers what was reserved last: a signaled one, or the next to come.
	constexpr u64 place() const { return signaled_ + (open_wrs_ ? 1 : 0); }
	// Handlers ask this, and the next, without the lock, under which others post.
	bool covers(u64 place) const
	{
		return __atomic_load_n(&completed_, __ATOMIC_RELAXED) >= place;
	}
	// The last completion that has been asked for.
	u64 signaled() const { return __atomic_load_n(&signaled_, __ATOMIC_RELAXED); }
	// How many signaled ones have completed.
	constexpr u64 completed() const { return completed_; }

	// A signaled work request completed. How many left the queue; 0 while the SQ accounting has
	// merged several signaled ones and not all of them completed.
	constexpr u32 retire()
	{
		if (count_ == 0)
			return 0;
		completed_++;
		Group &g = ring_[head_];
		if (--g.completions)
			return 0;
		u32 wrs = g.wrs;
		head_ = (head_ + 1) % kRing;
		count_--;
		used_ -= wrs;
		return wrs;
	}

	constexpr u32 used() const { return used_; }
	constexpr u32 free() const { return capacity_ - used_; }
	constexpr u32 capacity() const { return capacity_; }
	constexpr u32 interval() const { return interval_; }

	// For a new queue pair of the same connection, when the old one is drained.
	constexpr void reset()
	{
		used_ = open_wrs_ = open_requests_ = head_ = count_ = 0;
		signaled_ = completed_ = 0;
	}

private:
	// Retired together, when `completions` signaled ones completed. One normally; more when
	// there are more signaled ones outstanding than the ring has places.
	struct Group {
		u32 wrs;
		u32 completions;
		u32 last_wrs;	   // of the signaled reservation that came last, for cancel()
		u32 last_requests; // likewise
	};
	enum : u32 { kRing = 32 };

	constexpr Group &newest() { return ring_[(head_ + count_ - 1) % kRing]; }

	constexpr void close_group()
	{
		if (count_ == kRing) {
			newest().wrs += open_wrs_;
			newest().completions++;
		} else {
			count_++;
			newest() = {open_wrs_, 1, 0, 0};
		}
		newest().last_wrs = open_wrs_;
		newest().last_requests = open_requests_;
		open_wrs_ = open_requests_ = 0;
		signaled_++;
	}

	constexpr void reopen_group()
	{
		Group &g = newest();
		open_wrs_ = g.last_wrs;
		open_requests_ = g.last_requests;
		g.wrs -= g.last_wrs;
		if (--g.completions == 0)
			count_--;
		signaled_--;
	}

	u32 capacity_;
	u32 interval_;
	u32 max_chain_;
	u32 used_ = 0;		// all in the queue
	u32 open_wrs_ = 0;	// of these, posted behind the last signaled one
	u32 open_requests_ = 0; // likewise
	u32 head_ = 0;
	u32 count_ = 0;
	u64 signaled_ = 0;
	u64 completed_ = 0;
	Group ring_[kRing] = {};
};

} // namespace rtrs
