// SPDX-License-Identifier: GPL-2.0
// Arithmetic of heartbeats, the same on both ends (protocol B.3). Pure.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// How often a path sends heartbeats, and how many ticks it endures without a word of the peer.
struct HeartbeatLimits {
	u32 interval_ms = kHeartbeatIntervalMs;
	u32 missed_max = kHeartbeatMissedMax;
};

// Where nobody has set others (protocol B.3, J.4): a silent peer is lost 30 s after the heartbeat
// that it did not answer, or 5 s.
constexpr HeartbeatLimits heartbeat_defaults(bool both_know_short)
{
	if (both_know_short)
		return {kShortHeartbeatIntervalMs, kShortHeartbeatMissedMax};
	return {};
}

// What holds for a session: what its administrator has set, and for the rest what was agreed on.
class HeartbeatChoice {
public:
	constexpr void set_interval(u32 ms) { set_.interval_ms = ms; }
	constexpr void set_missed(u32 max) { set_.missed_max = max; }
	constexpr void agree(bool both_know_short) { both_know_short_ = both_know_short; }
	constexpr HeartbeatLimits limits() const
	{
		const HeartbeatLimits agreed = heartbeat_defaults(both_know_short_);
		return {set_.interval_ms ? set_.interval_ms : agreed.interval_ms,
			set_.missed_max ? set_.missed_max : agreed.missed_max};
	}

private:
	HeartbeatLimits set_{0, 0}; // 0: not set
	bool both_know_short_ = false;
};

enum class HeartbeatAction : u8 {
	Send, // send HB_MSG and wait for the next tick
	Wait, // only wait for the next tick
	Lost, // the peer is gone; no further tick
};

// on_tick() and on_sent() belong to the timer of the path; on_traffic() and on_ack() may run on any
// CPU at the same time, in any context. No lock: a tick that races with traffic counts either as
// before or as after it.
class Heartbeat {
public:
	// Once in an interval. The limit may be another one each time. `now` and `interval` in
	// nanoseconds of a monotonic clock: a tick that comes later than it should by more than an
	// interval says that this machine did not run, or has not come to what has arrived: then
	// nothing is missed. Not twice in a row, else a machine that is always late never notices.
	HeartbeatAction on_tick(u32 missed_max = kHeartbeatMissedMax, u64 now = 0, u64 interval = 0)
	{
		const bool late = last_tick_ && now - last_tick_ > 2 * interval;
		excused_ = late && !excused_;
		last_tick_ = now;
		u32 missed = __atomic_load_n(&missed_, __ATOMIC_RELAXED);
		if (missed && excused_)
			return HeartbeatAction::Wait;
		if (missed > missed_max)
			return HeartbeatAction::Lost;
		__atomic_store_n(&missed_, missed + 1, __ATOMIC_RELAXED);
		if (missed)
			return HeartbeatAction::Wait;
		__atomic_store_n(&sends_, sends_ + 1, __ATOMIC_RELAXED);
		return HeartbeatAction::Send;
	}

	// Anything arrived from the peer. Writes only if it changes something, so that the line
	// stays shared between CPUs that receive.
	void on_traffic()
	{
		if (__atomic_load_n(&missed_, __ATOMIC_RELAXED))
			__atomic_store_n(&missed_, 0u, __ATOMIC_RELAXED);
	}

	// Nothing has arrived since the last tick.
	bool silent() const { return missed() != 0; }
	// Ticks since the peer's last word.
	u32 missed() const { return __atomic_load_n(&missed_, __ATOMIC_RELAXED); }

	// For heard_since().
	u64 mark() const { return __atomic_load_n(&sends_, __ATOMIC_RELAXED); }
	// Whether the peer is known to have been heard after a mark. A heartbeat is sent only if
	// it was heard since the one before; that of the first may have been before the mark.
	bool heard_since(u64 mark) const { return this->mark() >= mark + 2; }

	// HB_MSG was posted at `now` (nanoseconds of a monotonic clock).
	void on_sent(u64 now) { __atomic_store_n(&sent_at_, now, __ATOMIC_RELAXED); }

	// HB_ACK arrived. One that nobody asked for changes nothing but counts as traffic.
	void on_ack(u64 now)
	{
		u64 sent = __atomic_exchange_n(&sent_at_, u64{0}, __ATOMIC_RELAXED);
		if (sent && now > sent)
			__atomic_store_n(&latency_, now - sent, __ATOMIC_RELAXED);
		on_traffic();
	}

	// Nanoseconds; 0 before the first ACK.
	u64 latency() const { return __atomic_load_n(&latency_, __ATOMIC_RELAXED); }

	// For a new connection of the same path: nothing missed, nothing measured.
	void reset()
	{
		__atomic_store_n(&missed_, 0u, __ATOMIC_RELAXED);
		__atomic_store_n(&sent_at_, u64{0}, __ATOMIC_RELAXED);
		__atomic_store_n(&latency_, u64{0}, __ATOMIC_RELAXED);
		last_tick_ = 0;
		excused_ = false;
	}

private:
	u32 missed_ = 0;
	u64 sends_ = 0; // of this connection and those before
	u64 sent_at_ = 0;
	u64 latency_ = 0;
	// Of the timer.
	u64 last_tick_ = 0;
	bool excused_ = false; // the last tick was
};

} // namespace rtrs
