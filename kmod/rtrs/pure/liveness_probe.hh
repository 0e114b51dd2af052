// SPDX-License-Identifier: GPL-2.0
// Whether a connection on which a request waits for long shows life. Pure.
//
// The age of a request says nothing about its path: the server's disk may take for hours. So the
// connection is asked, by a work request that the peer's adapter acknowledges and that the peer's
// program never sees. It lives if that one completes, or while others do that are before it in the
// queue; it is dead if for as long as the limit none did, although a request waited all that time.
// A queue that has no room for the question is watched in the same way.
//
// What is received does not count: it comes from a peer that may hear nothing.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

// In nanoseconds.
struct LifeLimits {
	u64 late; // so long a request waits before its connection is asked
	u64 dead; // so long nothing completes on a connection that is dead
};

// `timeout`: the administrator's (request_timeout). A server of this project always has receives,
// whatever its disks do, so that its adapter answers at once, and what does not answer is the
// network. Others hold up their receives, and the question behind them, as long as a disk hangs.
constexpr LifeLimits life_limits(u64 timeout, bool always_receives)
{
	constexpr u64 kSecond = 1000000000;
	if (!always_receives)
		return {timeout, timeout};
	return {cxxrt::min_of(timeout, 5 * kSecond), cxxrt::min_of(timeout, 10 * kSecond)};
}

class LivenessProbe {
public:
	enum class Next : u8 {
		Wait,
		Ask,   // post a question, and tell its place by asked(); else this comes again
		Lives, // the question was answered
		Dead,
	};

	// A look at `now`. `late`: a request waits for too long. `sent`: how many signaled work
	// requests have completed so far. `limit` in the unit of `now`. `mark`: see mark().
	constexpr Next look(bool late, u64 sent, u64 now, u64 limit, u64 mark = 0)
	{
		if (!asking_) {
			if (!late)
				return Next::Wait;
			asking_ = true;
			place_ = 0;
			sent_ = sent;
			since_ = now;
			mark_ = mark;
			return Next::Ask;
		}
		if (place_ && sent >= place_) {
			asking_ = false;
			return Next::Lives;
		}
		if (sent != sent_ || !late) {
			sent_ = sent;
			since_ = now;
			mark_ = mark;
		} else if (now - since_ >= limit) {
			return Next::Dead;
		}
		return place_ ? Next::Wait : Next::Ask;
	}
	// The question is in the queue: it is answered when `place`, which is not 0, have
	// completed.
	constexpr void asked(u64 place) { place_ = place; }

	// The mark of the last look that saw something complete, or that began to ask.
	constexpr u64 mark() const { return mark_; }

private:
	bool asking_ = false;
	u64 place_ = 0; // of the question; 0: there was no room for it
	u64 sent_ = 0;	// at the last look that saw one complete
	u64 since_ = 0; // time of it
	u64 mark_ = 0;	// of it
};

} // namespace rtrs
