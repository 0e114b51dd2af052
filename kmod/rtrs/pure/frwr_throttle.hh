// SPDX-License-Identifier: GPL-2.0
// When chains that register memory may be posted on a queue that executes local work twice
// (Registration in rtrs/core/memory.hh). Pure.
//
// There the guard of a registration waits until everything before it in the queue is acknowledged.
// A chain for each request therefore moves one request in the time that a message takes to the peer
// and back. The throttle lets two chains into the queue and holds further requests until the second
// one is acknowledged; all that were held go as one chain then, behind one guard:
//
//	state     a request                 a completion
//	Open      Half: post                Open
//	Half      Closed: post, signaled    Open
//	Closed    Closed: hold              Closed if requests are held, which are posted; else Open
//
// Requests one after the other, as at depth 1, cost a completion for every other one; or none,
// where the answer to the last one tells that it is acknowledged (Half becomes Open). Any success
// that the queue reports counts as a completion: one that comes too early costs a wait in the
// queue, nothing else. So it needs no account of its own: a request is held only while a signaled
// work request is outstanding, or the queue is broken and its owner ends what is held.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

enum class ThrottlePass : u8 {
	Post,
	PostSignaled, // with a completion, whatever the SQ accounting wants
	Hold,
};

class FrwrThrottle {
public:
	// A request wants to be posted. A post that then finds no room changes nothing here: there
	// is a completion outstanding.
	constexpr ThrottlePass pass()
	{
		switch (state_) {
		case State::Open:
			state_ = State::Half;
			return ThrottlePass::Post;
		case State::Half:
			state_ = State::Closed;
			return ThrottlePass::PostSignaled;
		case State::Closed:
			break;
		}
		return ThrottlePass::Hold;
	}

	// Whether it waits for nothing.
	constexpr bool is_open() const { return state_ == State::Open; }

	// What passed last has been answered by the peer, so all before it is acknowledged.
	constexpr void answered()
	{
		if (state_ == State::Half)
			state_ = State::Open;
	}

	// The queue has reported a success. `held`: requests wait, and the caller posts them now,
	// the last work request signaled.
	constexpr void completed(bool held) { state_ = held ? State::Closed : State::Open; }

private:
	enum class State : u8 { Open, Half, Closed };

	State state_ = State::Open;
};

// How many requests of `wrs` work requests each a chain takes, with the guard before them, in a
// queue of `capacity`: at least one, at most `limit`, and no more than half of the queue.
constexpr u32 throttle_batch(u32 capacity, u32 wrs, u32 limit)
{
	const u32 half = capacity / 2;
	const u32 fit = half > wrs ? (half - 1) / wrs : 1;
	return cxxrt::min_of(fit, limit);
}

} // namespace rtrs
