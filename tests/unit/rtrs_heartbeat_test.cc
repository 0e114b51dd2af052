// SPDX-License-Identifier: GPL-2.0
// Heartbeat arithmetic (protocol B.3).
#include <rtrs/pure/heartbeat.hh>

#include <atomic>
#include <thread>

using namespace rtrs;
using Action = HeartbeatAction;

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
