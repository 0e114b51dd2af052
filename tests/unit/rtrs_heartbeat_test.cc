// SPDX-License-Identifier: GPL-2.0
// Heartbeat arithmetic (protocol B.3).
#include <rtrs/pure/heartbeat.hh>

#include <atomic>
#include <initializer_list>
#include <thread>

using namespace rtrs;
using Action = HeartbeatAction;

TEST(Heartbeat, MissedCountsSinceTheLastWord)
{
	Heartbeat h;
	EXPECT_EQ(h.missed(), 0u);
	h.on_tick();
	h.on_tick();
	EXPECT_EQ(h.missed(), 2u);
	h.on_traffic();
	EXPECT_EQ(h.missed(), 0u);
}

TEST(Heartbeat, SilenceIsLossAfterThirtySeconds)
{
	Heartbeat h;
	EXPECT_EQ(h.on_tick(), Action::Send);
	for (int tick = 1; tick <= 5; tick++)
		EXPECT_EQ(h.on_tick(), Action::Wait) << tick;
	// The sixth tick behind the unanswered message: 30 s.
	EXPECT_EQ(h.on_tick(), Action::Lost);
	EXPECT_EQ(h.on_tick(), Action::Lost);
}

TEST(Heartbeat, AnyTrafficIsLife)
{
	Heartbeat h;
	for (int round = 0; round < 3; round++) {
		EXPECT_EQ(h.on_tick(), Action::Send);
		for (int tick = 1; tick <= 5; tick++)
			EXPECT_EQ(h.on_tick(), Action::Wait);
		h.on_traffic();
	}
}

TEST(Heartbeat, AnsweredEveryTime)
{
	Heartbeat h;
	for (u64 now = 1; now < 100; now++) {
		EXPECT_EQ(h.on_tick(), Action::Send);
		h.on_sent(now * 5'000'000'000);
		h.on_ack(now * 5'000'000'000 + 1000 + now);
		EXPECT_EQ(h.latency(), 1000 + now);
	}
}

TEST(Heartbeat, UnaskedAckMeasuresNothing)
{
	Heartbeat h;
	h.on_ack(12345);
	EXPECT_EQ(h.latency(), 0u);
	h.on_sent(1000);
	h.on_ack(1500);
	h.on_ack(999999);
	EXPECT_EQ(h.latency(), 500u);
	// A clock that does not advance measures nothing either.
	h.on_sent(2000);
	h.on_ack(2000);
	EXPECT_EQ(h.latency(), 500u);
}

TEST(Heartbeat, ResetForgetsWhatWasMissed)
{
	Heartbeat h;
	h.on_tick(1);
	h.on_sent(10);
	h.on_ack(20);
	h.on_tick(1);
	h.on_tick(1);
	EXPECT_EQ(h.on_tick(1), Action::Lost);
	h.reset();
	EXPECT_EQ(h.latency(), 0u);
	EXPECT_EQ(h.on_tick(1), Action::Send);
	EXPECT_EQ(h.on_tick(1), Action::Wait);
	EXPECT_EQ(h.on_tick(1), Action::Lost);
}

TEST(Heartbeat, TheLimitMayChangeAtEachTick)
{
	Heartbeat h;
	EXPECT_EQ(h.on_tick(100), Action::Send);
	for (int tick = 1; tick <= 50; tick++)
		EXPECT_EQ(h.on_tick(100), Action::Wait);
	// More patience than is left, and less than has been used.
	EXPECT_EQ(h.on_tick(51), Action::Wait);
	EXPECT_EQ(h.on_tick(3), Action::Lost);
	h.on_traffic();
	EXPECT_EQ(h.on_tick(3), Action::Send);
}

namespace {

constexpr u64 kSecond = 1'000'000'000;

// Ticks at these seconds, with an interval of one; the last action.
Action ticks(Heartbeat &h, std::initializer_list<double> seconds)
{
	Action last = Action::Wait;
	for (double s : seconds)
		last = h.on_tick(kShortHeartbeatMissedMax, static_cast<u64>(s * kSecond), kSecond);
	return last;
}

} // namespace

TEST(Heartbeat, ShortOnesTellWithinSixSeconds)
{
	Heartbeat h;
	const HeartbeatLimits limits = heartbeat_defaults(true);
	// The last word may have come just after a tick, which then was the first that did not ask.
	u32 ms = limits.interval_ms;
	EXPECT_EQ(h.on_tick(limits.missed_max), Action::Send);
	do {
		ms += limits.interval_ms;
		ASSERT_LE(ms, 6000u);
	} while (h.on_tick(limits.missed_max) != Action::Lost);
	EXPECT_EQ(ms, 6000u);
	EXPECT_EQ(heartbeat_defaults(false).interval_ms, 5000u);
	EXPECT_EQ(heartbeat_defaults(false).missed_max, 5u);
}

TEST(Heartbeat, WhatThisMachineSleptThroughIsNotMissed)
{
	Heartbeat h;
	// It stands for a minute before the tick that would say so, and for another at the very
	// last.
	EXPECT_EQ(ticks(h, {10, 11, 12, 13, 14, 75}), Action::Wait);
	h.on_traffic();
	EXPECT_EQ(ticks(h, {76, 77, 78, 79, 80}), Action::Wait);
	EXPECT_EQ(ticks(h, {140}), Action::Wait);
	EXPECT_EQ(ticks(h, {141}), Action::Lost);
}

TEST(Heartbeat, ALittleLateIsInTime)
{
	Heartbeat h;
	EXPECT_EQ(ticks(h, {10, 11.9, 13.8, 15.7, 17.6}), Action::Wait);
	EXPECT_EQ(ticks(h, {19.5}), Action::Lost);
}

TEST(Heartbeat, AlwaysLateNoticesAllTheSame)
{
	Heartbeat h;
	EXPECT_EQ(ticks(h, {10, 13, 16, 19, 22, 25, 28, 31, 34, 37}), Action::Wait);
	EXPECT_EQ(ticks(h, {40}), Action::Lost);
}

TEST(Heartbeat, ANewConnectionIsNotLate)
{
	Heartbeat h;
	EXPECT_EQ(ticks(h, {10, 11}), Action::Wait);
	h.reset();
	EXPECT_EQ(ticks(h, {100}), Action::Send);
	EXPECT_EQ(ticks(h, {101, 102, 103, 104, 105}), Action::Lost);
}

TEST(HeartbeatChoice, TheAdministratorWins)
{
	HeartbeatChoice c;
	EXPECT_EQ(c.limits().interval_ms, 5000u);
	EXPECT_EQ(c.limits().missed_max, 5u);
	c.agree(true);
	EXPECT_EQ(c.limits().interval_ms, 1000u);
	EXPECT_EQ(c.limits().missed_max, 4u);
	c.set_interval(2000);
	EXPECT_EQ(c.limits().interval_ms, 2000u);
	EXPECT_EQ(c.limits().missed_max, 4u);
	c.set_missed(9);
	c.agree(false);
	EXPECT_EQ(c.limits().interval_ms, 2000u);
	EXPECT_EQ(c.limits().missed_max, 9u);
}

TEST(Heartbeat, TrafficOnOtherCpus)
{
	Heartbeat h;
	std::atomic<bool> stop = false;
	std::thread traffic([&] {
		while (!stop)
			h.on_traffic();
	});
	for (int i = 0; i < 1000; i++) {
		h.on_traffic();
		// At most one miss stands, whatever the other thread did.
		Action a = h.on_tick();
		EXPECT_NE(a, Action::Lost);
	}
	stop = true;
	traffic.join();
}

// A path that was down for long is not late with its first tick.
TEST(Heartbeat, AResetForgetsTheLastTick)
{
	constexpr u64 kInterval = 1'000'000'000;
	Heartbeat h;
	h.on_tick(5, kInterval, kInterval);
	h.reset();
	EXPECT_EQ(h.on_tick(5, 100 * kInterval, kInterval), Action::Send);
	// This one is, and is excused for it.
	EXPECT_EQ(h.on_tick(5, 110 * kInterval, kInterval), Action::Wait);
	EXPECT_EQ(h.missed(), 1u);
}

// Whoever asks whether the peer lived while something else stood still.
TEST(Heartbeat, HeardSince)
{
	Heartbeat h;
	h.on_tick();
	h.on_traffic();
	const u64 mark = h.mark();
	EXPECT_EQ(h.on_tick(), Action::Send);
	EXPECT_FALSE(h.heard_since(mark)) << "the word may have been before";
	for (int tick = 0; tick < 4; tick++)
		EXPECT_EQ(h.on_tick(), Action::Wait);
	EXPECT_FALSE(h.heard_since(mark)) << "silence";
	h.on_traffic();
	EXPECT_EQ(h.on_tick(), Action::Send);
	EXPECT_TRUE(h.heard_since(mark));
	EXPECT_FALSE(h.heard_since(h.mark()));
	h.reset();
	EXPECT_FALSE(h.heard_since(h.mark())) << "a new connection";
}
