// SPDX-License-Identifier: GPL-2.0
// How long a lost path waits before it tries by itself to connect again. Pure.
//
// The first pause is short, for most of what is lost comes back at once: a server that loads its
// modules anew, a cable that was put into another port. Each further one is twice as long, up to
// the longest, which the user of the session sets. A connection that lived no longer than that
// doesn't count: a path that comes and goes must not keep two machines busy with connecting.
//
// To each pause comes a part by chance, which keeps the clients of one server from coming back at
// the same time: up to 8 s, as documented (the 8 ms of protocol A.1 spread nothing), but no more
// than the pause itself.
#pragma once

#include <rtrs/wire/constants.hh>

namespace rtrs {

constexpr u32 kMaxReconnectJitterMs = 8000;

class ReconnectBackoff {
public:
	// Milliseconds of the pause that begins. `longest_ms` is its bound, without the part by
	// chance; `random` is any number.
	constexpr u32 next(u32 longest_ms, u32 random)
	{
		const u32 longest = cxxrt::max_of(longest_ms, kReconnectPauseMs);
		const u32 pause = pauses_ < kDoublings && kReconnectPauseMs << pauses_ < longest
				      ? kReconnectPauseMs << pauses_
				      : longest;
		if (pauses_ < kDoublings)
			pauses_++;
		return pause + random % cxxrt::min_of(pause, kMaxReconnectJitterMs);
	}

	// The same after an attempt that nobody answered, neither with an address nor with a word:
	// a cable is out, or the peer is. That is no reason to wait longer each time, for nobody is
	// kept busy by it; nor has the server to see the end of something before.
	constexpr u32 next_unanswered(u32 random) const
	{
		return kUnansweredPauseMs + random % kUnansweredPauseMs;
	}

	// The path was connected for longer than the longest pause, an administrator asks, or what
	// was in the way is there no more.
	constexpr void reset() { pauses_ = 0; }

private:
	static_assert(kReconnectPauseMs > 0);
	enum : u32 {
		kDoublings = 16, // so often 1 s stays a number of 32 bits
		kUnansweredPauseMs = 250,
	};

	u32 pauses_ = 0; // in a row
};

// How long an attempt to reconnect waits for the peer's answer to a connection request. The
// connection manager repeats a request that was lost after 6 s only. So the first attempts are
// short: a cable that was out is back soon, and while the kernel still knows the peer's address,
// which it asks for anew only when it doubts it, the missing answer alone says so. Later ones are
// longer: a server that is busy, as after its restart with all of its clients, must not be asked
// anew before it can answer.
class AnswerTimeout {
public:
	// Milliseconds for the attempt that begins.
	constexpr u32 next()
	{
		const u32 doublings = attempts_ < kShort ? 0 : attempts_ - kShort + 1;
		const u32 ms = kFirstMs << doublings;
		if (ms >= kConnectTimeoutMs)
			return kConnectTimeoutMs;
		attempts_++;
		return ms;
	}
	// The path is connected.
	constexpr void reset() { attempts_ = 0; }

private:
	enum : u32 { kFirstMs = 1500, kShort = 6 };

	u32 attempts_ = 0; // in a row
};

// How long a question for an address is open before it is asked anew. ib_core may lose an answer
// that comes at once, as a neighbour's on the same network does, and the next question finds it
// then. Where nobody answers, the kernel's own repetitions are a second apart.
class AddressTimeout {
public:
	// Milliseconds for the question that is asked now.
	constexpr u32 next()
	{
		const u32 ms = ms_;
		ms_ = cxxrt::min_of(2 * ms_, u32{kLongestMs});
		return ms;
	}

private:
	enum : u32 { kFirstMs = 100, kLongestMs = 1000 };

	u32 ms_ = kFirstMs;
};

} // namespace rtrs
