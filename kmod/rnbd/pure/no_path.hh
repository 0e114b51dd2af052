// SPDX-License-Identifier: GPL-2.0
// What becomes of requests while a device can't be reached: no_path_timeout. Pure.
//
// The time counts from the loss, not from each request: who builds upon several disks (md,
// multipath) must not wait anew with every request, and no request fails earlier than that, however
// old it is when its path goes. Times are any clock's nanoseconds.
//
// Requests hear of a loss before the rule does: the transport ends them, then tells the user. Until
// then they try again. A request that keeps meeting no path without any such news has the same time
// from where it met none first.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

constexpr int kNoPathForever = -1;
constexpr int kMaxNoPathTimeout = 1'000'000; // seconds
constexpr u64 kNanosecondsPerSecond = 1'000'000'000;

// Seconds, 0 to fail at once, -1 to wait for ever. EINVAL, ERANGE.
constexpr Result<int> parse_no_path_timeout(TextView t)
{
	return cxxrt::parse_int(t, kNoPathForever, kMaxNoPathTimeout);
}

// The rule for one device. Whoever owns it serialises all calls.
class NoPathRule {
public:
	enum class Verdict : u8 {
		Wait,  // until restore(), or until left() is over
		Retry, // nothing is known to be lost: soon again
		Fail,
	};

	constexpr int timeout() const { return timeout_; }
	constexpr void set_timeout(int seconds) { timeout_ = seconds; }

	constexpr void lose(u64 now)
	{
		lost_ = true;
		since_ = now;
	}
	constexpr void restore(u64 now)
	{
		lost_ = rejected_ = false;
		since_ = now;
	}
	// The server does not serve the device any more: that is no loss of a path.
	constexpr void reject() { rejected_ = true; }
	// The device is unmapped: final.
	constexpr void end() { ended_ = true; }

	// For a request that met no path, and has met none since `missed`.
	constexpr Verdict judge(u64 missed, u64 now) const
	{
		if (rejected_ || !in_time(lost_ || since_ > missed ? since_ : missed, now))
			return Verdict::Fail;
		return lost_ ? Verdict::Wait : Verdict::Retry;
	}
	// Whether what waits has to be failed now.
	constexpr bool over(u64 now) const
	{
		return ended_ || rejected_ || (lost_ && !in_time(since_, now));
	}
	// Whether over() becomes true by time alone, and in how many nanoseconds.
	constexpr bool limited() const { return lost_ && !ended_ && !rejected_ && timeout_ > 0; }
	constexpr u64 left(u64 now) const
	{
		const u64 waited = elapsed(since_, now);
		return waited < limit() ? limit() - waited : 0;
	}

private:
	constexpr u64 limit() const { return static_cast<u64>(timeout_) * kNanosecondsPerSecond; }
	static constexpr u64 elapsed(u64 from, u64 now) { return now > from ? now - from : 0; }
	constexpr bool in_time(u64 from, u64 now) const
	{
		if (ended_ || timeout_ == 0)
			return false;
		return timeout_ < 0 || elapsed(from, now) < limit();
	}

	int timeout_ = 0;
	bool lost_ = false;
	bool ended_ = false;
	bool rejected_ = false;
	u64 since_ = 0; // of the loss, or of its end
};

} // namespace rnbd
