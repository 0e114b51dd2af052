// SPDX-License-Identifier: GPL-2.0
// A request that is not answered: its path ends if the connection shows no life, and never because
// the server takes its time.
#include "cases.h"
#include "threads.hh"
#include "user.hh"

using namespace cxxrt;
using namespace kunit_testing;
using fake::Client;
using fake::Io;
using fake::kDepth;

namespace {

// Ages are looked at every 5 s, and more often as soon as that has happened under a short timeout.
// A busy machine does so late.
constexpr long kLate = 90 * HZ;

void pause(long ticks)
{
	schedule_timeout_uninterruptible(ticks);
}

template <class F> bool comes_true(F &&condition)
{
	constexpr long kTick = HZ / 50 + 1;
	for (long waited = 0; waited < kLate; waited += kTick) {
		if (condition())
			return true;
		pause(kTick);
	}
	return false;
}

// The device forgets that there is work. The write has its answer, and its pages are the device's
// until the completion.
bool forget_a_write(Client &c, u32 slot)
{
	if (c.write("request_timeout", "0") != 1)
		return false;
	c.io(slot).prepare(slot, false);
	c.fabric->hold_sends = c.fabric->forgets = true;
	return c.io(slot).submit(c.session) == 0 && c.fabric->answer(0, slot);
}

bool ends(Client &c, u32 slot)
{
	return comes_true([&] { return c.io(slot).ends() == c.io(slot).submitted; });
}

} // namespace

CASE(deadline_leaves_a_path_that_lives)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("request_timeout", "3"), 1);
	const u32 first = c.first_slot();
	for (u32 slot = first; slot < first + 4; slot++) {
		c.io(slot).prepare(slot, slot % 2);
		EXPECT_EQ(c.io(slot).submit(c.session), 0);
	}
	// Each connection is asked again only when it has answered.
	EXPECT(comes_true([&] { return c.fabric->probes() > 4; }));
	for (u32 slot = first; slot < first + 4; slot++) {
		EXPECT_EQ(c.io(slot).ends(), 0);
		EXPECT_EQ(c.fabric->arrivals(slot), 1);
		EXPECT(c.fabric->answer(c.fabric->arrivals(1, slot), slot));
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, 0);
	}
	EXPECT_EQ(c.links_lost, 0);
	// Nobody is asked about nothing.
	pause(HZ);
	const u32 probes = c.fabric->probes();
	pause(2 * HZ);
	EXPECT_EQ(c.fabric->probes(), probes);
}

CASE(deadline_ends_a_path_without_life)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("request_timeout", "1"), 1);
	const u32 slot = c.first_slot();
	c.io(slot).prepare(slot, true);
	c.fabric->hold_sends = true;
	EXPECT_EQ(c.io(slot).submit(c.session), 0);
	REQUIRE(ends(c, slot));
	EXPECT_EQ(c.io(slot).status, -ECONNABORTED);
	EXPECT_EQ(c.io(slot).open_at_end, 0);
	EXPECT_EQ(c.fabric->probes(), 1);
	EXPECT_EQ(c.links_lost, 1);
	c.fabric->release_held();
}

// Nothing completes, but nobody waits any more either.
CASE(deadline_forgets_who_was_answered)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("request_timeout", "4"), 1);
	const u32 slot = c.first_slot();
	c.io(slot).prepare_empty(slot);
	c.fabric->hold_sends = true;
	EXPECT_EQ(c.io(slot).submit(c.session), 0);
	EXPECT(comes_true([&] { return c.fabric->probes() == 1; }));
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(c.io(slot).wait().ok());
	EXPECT_EQ(c.io(slot).status, 0);
	pause(8 * HZ);
	EXPECT_EQ(c.links_lost, 0);
	EXPECT_EQ(c.fabric->probes(), 1);
	c.fabric->release_held();
}

// No room to ask: what is in the queue would have to move.
CASE(deadline_of_a_queue_that_is_full)
{
	auto made = Client::create(1, {.queue = 40});
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	const u32 other = slot + 1;
	c.io(slot).prepare(slot, false);
	c.io(other).prepare_empty(other);
	c.fabric->hold_sends = true;
	EXPECT_EQ(c.io(slot).submit(c.session), 0);
	int code = 0;
	for (u32 i = 0; i < 200 && !code; i++) {
		code = c.io(other).submit(c.session);
		if (!code) {
			EXPECT(c.fabric->answer(0, other));
			REQUIRE(c.io(other).wait().ok());
		}
	}
	EXPECT_EQ(code, -EAGAIN);
	EXPECT_EQ(c.write("request_timeout", "1"), 1);
	REQUIRE(ends(c, slot));
	EXPECT_EQ(c.io(slot).status, -ECONNABORTED);
	EXPECT_EQ(c.fabric->probes(), 0);
	EXPECT_EQ(c.links_lost, 1);
	c.fabric->release_held();
}

// No other request posts.
CASE(deadline_wakes_a_queue_that_stands_still)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	REQUIRE(forget_a_write(c, slot));
	REQUIRE(ends(c, slot));
	EXPECT_EQ(c.io(slot).status, 0);
	EXPECT_EQ(c.fabric->wakes(), 1);
	EXPECT_EQ(c.fabric->probes(), 0);
	EXPECT_EQ(c.links_lost, 0);
	// Nothing is open any more.
	pause(4 * HZ);
	EXPECT_EQ(c.fabric->wakes(), 1);
}

// What the look would hide is seen without it.
CASE(deadline_leaves_a_queue_alone_where_it_is_told_to)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	REQUIRE(forget_a_write(c, slot));
	WRITE_ONCE(rtrs_wake_stalled, false);
	pause(4 * HZ);
	WRITE_ONCE(rtrs_wake_stalled, true);
	EXPECT_EQ(c.fabric->wakes(), 0);
	EXPECT_EQ(c.io(slot).ends(), 0);
	REQUIRE(ends(c, slot));
	EXPECT_EQ(c.fabric->wakes(), 1);
}
