// SPDX-License-Identifier: GPL-2.0
// Requests of a dead path move only when the server has ended it (protocol J.1).
#include "cases.h"
#include "threads.hh"
#include "user.hh"

using namespace cxxrt;
using namespace kunit_testing;
using fake::Client;
using fake::Io;
using fake::kPaths;

namespace {

// Submits until a request has gone out by `path`; its slot, 0 if none did.
u32 submit_by(Client &c, u32 path)
{
	for (u32 slot = c.first_slot(); slot < c.first_slot() + kPaths; slot++) {
		c.io(slot).prepare(slot, false);
		if (c.io(slot).submit(c.session))
			return 0;
		for (u32 p = 0; p < kPaths; p++)
			if (c.fabric->arrivals(p, slot) && p != path)
				c.fabric->answer(p, slot);
		if (c.fabric->arrivals(path, slot))
			return slot;
		c.fabric->settle();
	}
	return 0;
}

} // namespace

CASE(fence_holds_requests_until_the_path_has_ended)
{
	auto made = Client::create(2, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->silent[1] = true;
	const u32 slot = submit_by(c, 0);
	REQUIRE(slot);
	const u32 dead = c.fabric->serial[0];
	c.fabric->kill(0);
	REQUIRE(c.fabric->wait_asked(1, dead));
	// The end of something else is not the end of this path.
	EXPECT(c.fabric->say_fenced(1, dead + 1));
	c.fabric->settle();
	EXPECT_EQ(c.fabric->arrivals(1, slot), 0);
	EXPECT_EQ(c.io(slot).ends(), 0);
	EXPECT(c.fabric->say_fenced(1, dead));
	REQUIRE(c.fabric->wait_arrival(1, slot));
	EXPECT(c.fabric->answer(1, slot));
	REQUIRE(c.io(slot).wait().ok());
	EXPECT_EQ(c.io(slot).status, 0);
}

// One of the paths that are left is dead too, and nobody has noticed: it holds nothing up.
CASE(fence_goes_over_every_path)
{
	for (u32 deaf = 1; deaf < kPaths; deaf++) {
		auto made = Client::create(kPaths, {.fences = true});
		REQUIRE(made.ok());
		Client &c = **made;
		c.fabric->silent[deaf] = true;
		const u32 slot = submit_by(c, 0);
		REQUIRE(slot);
		const u64 begin = get_jiffies_64();
		c.fabric->kill(0);
		REQUIRE(c.fabric->wait_asked(deaf, c.fabric->serial[0]));
		u32 by = 0;
		for (u32 i = 0; i < 1000 && !by; i++) {
			schedule_timeout_uninterruptible(1);
			for (u32 p = 1; p < kPaths; p++)
				if (c.fabric->arrivals(p, slot))
					by = p;
		}
		REQUIRE(by);
		EXPECT(get_jiffies_64() - begin < 10 * HZ);
		EXPECT(c.fabric->answer(by, slot));
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, 0);
	}
}

// A second path dies while one that is left owes the answer to the first fence: that one is asked
// only when it has answered.
CASE(fence_over_a_path_that_owes_an_answer)
{
	auto made = Client::create(kPaths, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->silent[2] = true;
	const u32 first = submit_by(c, 0);
	REQUIRE(first);
	const u32 dead[] = {c.fabric->serial[0], c.fabric->serial[1]};
	c.fabric->kill(0);
	// By path 1, which answers.
	REQUIRE(c.fabric->wait_asked(2, dead[0]));
	u32 by = 0;
	for (u32 i = 0; i < 1000 && !by; i++) {
		schedule_timeout_uninterruptible(1);
		by = c.fabric->arrivals(1, first) ? 1 : c.fabric->arrivals(2, first) ? 2 : 0;
	}
	REQUIRE(by);
	if (by == 2)
		EXPECT(c.fabric->answer(2, first));
	const u32 second = by == 1 ? first : submit_by(c, 1);
	REQUIRE(second);
	c.fabric->kill(1);
	c.fabric->settle();
	EXPECT_EQ(c.fabric->asked(2), dead[0]);
	EXPECT_EQ(c.fabric->arrivals(2, second) - (by == 2 && second == first), 0);
	EXPECT(c.fabric->say_fenced(2, dead[0]));
	REQUIRE(c.fabric->wait_asked(2, dead[1]));
	EXPECT(c.fabric->say_fenced(2, dead[1]));
	REQUIRE(c.fabric->wait_arrival(2, second));
	EXPECT(c.fabric->answer(2, second));
	REQUIRE(c.io(second).wait().ok());
	EXPECT_EQ(c.io(second).status, 0);
}

CASE(fence_without_a_path_gives_requests_up)
{
	auto made = Client::create(2, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->silent[1] = true;
	const u32 slot = submit_by(c, 0);
	REQUIRE(slot);
	c.fabric->kill(0);
	REQUIRE(c.fabric->wait_asked(1, c.fabric->serial[0]));
	c.fabric->kill(1);
	REQUIRE(c.io(slot).wait().ok());
	EXPECT_EQ(c.io(slot).status, -ECONNABORTED);
	EXPECT_EQ(c.fabric->arrivals(1, slot), 0);
}

// The path that is left has a full queue: who moves there waits, and gets nothing worse than that.
CASE(fence_over_moves_wait_for_room)
{
	auto made = Client::create(2, {.send_room = 40, .queues = 1});
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->hold_sends = true;
	// What is answered keeps its place in the queue as long as nothing completes.
	u32 end = c.first_slot(), moving = 0, before[fake::kDepth];
	for (u32 n = 0; n < 24; n++) {
		const u32 first = c.fabric->arrivals(0, end);
		c.io(end).prepare_empty(end);
		REQUIRE(c.io(end).submit(c.session) == 0);
		REQUIRE(c.fabric->answer(c.fabric->arrivals(0, end) == first, end));
		REQUIRE(c.io(end).wait().ok());
	}
	for (u32 slot = end; slot < fake::kDepth; slot++)
		before[slot] = c.fabric->arrivals(1, slot);
	const u32 others = c.fabric->arrivals(0, end);
	for (; end < fake::kDepth; end++) {
		// Of a read there are two work requests.
		c.io(end).prepare(end, true);
		if (c.io(end).submit(c.session))
			break;
		moving += c.fabric->arrivals(0, end) - (end == c.first_slot() ? others : 0);
	}
	REQUIRE(moving > 2);
	c.fabric->kill(0);
	schedule_timeout_uninterruptible(HZ / 5);
	u32 waiting = 0;
	for (u32 slot = c.first_slot(); slot < end; slot++) {
		waiting += c.fabric->arrivals(1, slot) == before[slot];
		EXPECT(c.io(slot).ends() < c.io(slot).submitted);
	}
	EXPECT(waiting > 0);
	c.fabric->hold_sends = false;
	c.fabric->release_held();
	for (u32 slot = c.first_slot(); slot < end; slot++) {
		REQUIRE(c.fabric->wait_arrival(1, slot, before[slot] + 1));
		EXPECT(c.fabric->answer(1, slot));
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, 0);
	}
}

// What was given up may still be executed by the server for the attempt that knows nothing of it:
// only the next one asks the server to wait.
CASE(fence_given_up_bars_the_attempt_of_before)
{
	auto made = Client::create(2, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 lost = submit_by(c, 1);
	REQUIRE(lost);
	c.fabric->deaf[0] = true;
	const u32 before = c.fabric->serial[0];
	c.fabric->kill(0, true);
	for (int i = 0; i < 500 && !READ_ONCE(c.fabric->unheard[0]); i++)
		schedule_timeout_uninterruptible(HZ / 100);
	REQUIRE(READ_ONCE(c.fabric->unheard[0]));
	// The last path ends, and no other one is left to ask for an end of it.
	c.fabric->kill(1);
	REQUIRE(c.io(lost).wait().ok());
	EXPECT_EQ(c.io(lost).status, -ECONNABORTED);
	// On a machine so slow that the attempt has ended meanwhile there is nothing to see.
	const bool first = READ_ONCE(c.fabric->unheard[0]) == 1;
	if (!c.fabric->answer_unheard(0) || !first)
		return;
	u32 slot = 0;
	for (int i = 0; i < 100 && !slot; i++) {
		schedule_timeout_uninterruptible(HZ / 10);
		slot = submit_by(c, 0);
	}
	REQUIRE(slot);
	EXPECT_EQ(c.fabric->serial[0], before + 2);
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(c.io(slot).wait().ok());
}

// A path that is gone was connected to an instance of the server that is gone, too. The others
// connect to the new one, all of them.
CASE(fence_of_a_stale_path_holds_nobody_up)
{
	auto made = Client::create(kPaths, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	// Each path has its turn.
	EXPECT(c.write("mp_policy", "round-robin\n") > 0);
	c.fabric->kill(0);
	c.fabric->settle();
	c.fabric->instance = 2;
	c.fabric->kill(1, true);
	c.fabric->kill(2, true);
	const u64 end = get_jiffies_64() + 10 * HZ;
	for (u32 path = 1; path < kPaths; path++) {
		u32 slot = 0;
		while (!slot && get_jiffies_64() < end) {
			schedule_timeout_uninterruptible(HZ / 10);
			slot = submit_by(c, path);
		}
		REQUIRE(slot);
		EXPECT(c.fabric->answer(path, slot));
		REQUIRE(c.io(slot).wait().ok());
	}
}

// The user takes his time to hear of a request that was lost with the old instance. Until then no
// path of the new one can be his, and each attempt is one.
CASE(fence_of_an_instance_counts_as_an_attempt)
{
	constexpr u32 kAttempts = 2;
	auto made = Client::create(2, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT(c.write("max_reconnect_attempts", "2\n") > 0);
	// One request on each path.
	const u32 first = c.first_slot();
	for (u32 slot = first; slot < first + 2; slot++) {
		c.io(slot).prepare(slot, false);
		REQUIRE(c.io(slot).submit(c.session) == 0);
	}
	REQUIRE(c.fabric->arrivals(first) && c.fabric->arrivals(first + 1));
	const u32 slot = c.fabric->arrivals(1, first) ? first : first + 1;
	REQUIRE(c.fabric->arrivals(1, slot));
	EXPECT(c.fabric->answer(0, slot == first ? first + 1 : first));
	Completion heard;
	c.io(slot).priv = &heard;
	c.io(slot).at_end = [](Io &io) {
		static_cast<Completion *>(io.priv)->wait();
	};
	const u32 before = c.fabric->serial[0];
	c.fabric->instance = 2;
	c.fabric->kill(0, true);
	// An attempt takes no time, and the pauses before them 1 to 2 s each.
	schedule_timeout_uninterruptible(8 * HZ);
	EXPECT_EQ(c.fabric->serial[0], before + kAttempts);
	heard.complete();
	REQUIRE(c.io(slot).wait().ok());
	EXPECT_EQ(c.io(slot).status, -ECONNABORTED);
	schedule_timeout_uninterruptible(2 * HZ);
	EXPECT_EQ(c.fabric->serial[0], before + kAttempts);
}
