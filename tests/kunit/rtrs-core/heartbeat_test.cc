// SPDX-License-Identifier: GPL-2.0
// The heartbeat's timer on a real work queue, as a path of either side has it (protocol B.3).
#include <rtrs/core/heartbeat.hh>

#include "cases.h"
#include "device.hh"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;

namespace {

// Ticks until a silent peer is given up: one that asks, then those that are missed.
constexpr u32 kTicksToLoss = 1 + kHeartbeatMissedMax + 1;

rtrs_queue_config config(u32 wrs)
{
	rtrs_queue_config c{};
	c.send_wrs = wrs;
	c.max_chain = 1;
	c.signal_interval = 2;
	return c;
}

void wait_ticks(u32 ticks)
{
	schedule_timeout_uninterruptible(msecs_to_jiffies(ticks * kHeartbeatIntervalMs));
}

// A path, as far as the heartbeat knows it.
struct Owner {
	Status prepare(u32 wrs)
	{
		queue = TRY(Workqueue::create("kunit_heartbeat", WQ_UNBOUND));
		device = TRY(fake::Device::create(config(wrs)));
		return {};
	}
	~Owner() { timer.stop(); }
	void start() { timer.start(&device->connection(), queue); }
	static void on_lost(void *owner)
	{
		auto *self = static_cast<Owner *>(owner);
		__atomic_fetch_add(&self->losses, 1, __ATOMIC_SEQ_CST);
		self->lost.complete();
	}

	Workqueue queue;
	Box<fake::Device> device;
	int losses = 0;
	Completion lost;
	ib_cqe cqe{};
	HeartbeatTimer timer{this, on_lost, &cqe};
};

Result<Box<Owner>> make_owner(u32 wrs = 64)
{
	Box<Owner> owner = TRY(make_box<Owner>(GFP_KERNEL));
	TRY(owner->prepare(wrs));
	return owner;
}

} // namespace

CASE(heartbeat_silent_peer_is_lost_once)
{
	auto made = make_owner();
	REQUIRE(made.ok());
	Owner &owner = **made;
	const unsigned long begin = jiffies;
	owner.start();
	REQUIRE(owner.lost.wait_for(kLong).ok());
	// Not sooner than a peer that is slow may need, and it was asked once.
	EXPECT(time_after_eq(jiffies,
			     begin + msecs_to_jiffies(kHeartbeatMissedMax * kHeartbeatIntervalMs)));
	EXPECT_EQ(owner.device->posted, 1);
	EXPECT_EQ(owner.device->last_imm, kHeartbeatImm.value());
	wait_ticks(2 * kTicksToLoss);
	EXPECT_EQ(owner.losses, 1);
	EXPECT_EQ(owner.device->posted, 1);
}

CASE(heartbeat_traffic_keeps_the_path)
{
	auto made = make_owner();
	REQUIRE(made.ok());
	Owner &owner = **made;
	owner.start();
	for (u32 i = 0; i < 3 * kTicksToLoss; i++) {
		wait_ticks(1);
		owner.timer.on_traffic();
	}
	EXPECT_EQ(owner.losses, 0);
	// The peer is asked whenever nothing is missed: it learns by that that this side lives.
	EXPECT(owner.device->posted > kTicksToLoss);
}

CASE(heartbeat_ack_measures_and_goes_on)
{
	auto made = make_owner();
	REQUIRE(made.ok());
	Owner &owner = **made;
	EXPECT_EQ(owner.timer.latency_ns(), 0);
	// Nobody asked for it.
	owner.timer.on_ack();
	EXPECT_EQ(owner.timer.latency_ns(), 0);
	owner.start();
	u32 answered = 0;
	for (u32 i = 0; i < 200 && answered < 3; i++) {
		schedule_timeout_uninterruptible(1);
		if (READ_ONCE(owner.device->posted) == answered)
			continue;
		answered++;
		owner.timer.on_ack();
		EXPECT(owner.timer.latency_ns() > 0);
	}
	EXPECT_EQ(answered, 3);
	EXPECT(owner.timer.latency_ns() < 5ull * NSEC_PER_SEC);
	EXPECT_EQ(owner.losses, 0);
}

// A path drains its queue behind this: a post afterwards would complete when the path is gone.
CASE(heartbeat_stop_ends_all_posts)
{
	auto made = make_owner(1024);
	REQUIRE(made.ok());
	Owner &owner = **made;
	for (u32 round = 0; round < 20; round++) {
		owner.start();
		// At each time relative to the tick.
		schedule_timeout_uninterruptible(
		    msecs_to_jiffies(round % 5 * kHeartbeatIntervalMs / 2));
		owner.timer.on_traffic();
		owner.timer.stop();
		const u32 posted = READ_ONCE(owner.device->posted);
		const int losses = READ_ONCE(owner.losses);
		schedule_timeout_uninterruptible(msecs_to_jiffies(2 * kHeartbeatIntervalMs));
		EXPECT_EQ(READ_ONCE(owner.device->posted), posted);
		EXPECT_EQ(READ_ONCE(owner.losses), losses);
	}
	owner.timer.stop();
	EXPECT(owner.device->posted > 0);
}

CASE(heartbeat_full_queue_is_no_loss)
{
	auto made = make_owner(2);
	REQUIRE(made.ok());
	Owner &owner = **made;
	owner.start();
	// After two heartbeats there is no room for more, since none completes.
	for (u32 i = 0; i < 2 * kTicksToLoss; i++) {
		wait_ticks(1);
		owner.timer.on_traffic();
	}
	EXPECT_EQ(owner.device->posted, 2);
	EXPECT_EQ(owner.losses, 0);
	EXPECT_EQ(owner.timer.on_message(owner.device->connection()).code(), -EAGAIN);
	// And the ticks go on.
	EXPECT(owner.device->complete_one());
	for (u32 i = 0; i < 100 && owner.device->posted < 3; i++) {
		wait_ticks(1);
		owner.timer.on_traffic();
	}
	EXPECT(owner.device->posted >= 3);
}

CASE(heartbeat_refused_post_is_a_loss)
{
	auto made = make_owner();
	REQUIRE(made.ok());
	Owner &owner = **made;
	owner.device->refuse_with = -EIO;
	owner.start();
	REQUIRE(owner.lost.wait_for(kLong).ok());
	wait_ticks(3);
	EXPECT_EQ(owner.losses, 1);
	EXPECT_EQ(owner.timer.on_message(owner.device->connection()).code(), -EIO);
}

CASE(heartbeat_of_the_peer_is_acknowledged)
{
	auto made = make_owner();
	REQUIRE(made.ok());
	Owner &owner = **made;
	EXPECT(owner.timer.on_message(owner.device->connection()).ok());
	EXPECT_EQ(owner.device->posted, 1);
	EXPECT_EQ(owner.device->last_imm, kHeartbeatAckImm.value());
	EXPECT_EQ(owner.losses, 0);
}

// The same path connects again.
CASE(heartbeat_starts_anew_after_a_loss)
{
	auto made = make_owner();
	REQUIRE(made.ok());
	Owner &owner = **made;
	owner.start();
	REQUIRE(owner.lost.wait_for(kLong).ok());
	owner.timer.stop();
	const u32 posted = owner.device->posted;
	owner.start();
	for (u32 i = 0; i < kHeartbeatMissedMax - 1; i++)
		wait_ticks(1);
	// What the last life missed does not count.
	EXPECT_EQ(owner.losses, 1);
	EXPECT_EQ(owner.device->posted, posted + 1);
}
