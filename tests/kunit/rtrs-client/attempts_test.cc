// SPDX-License-Identifier: GPL-2.0
// When a path tries to connect: addresses that nobody tells, and ports that go and come.
#include "cases.h"
#include "threads.hh"
#include "user.hh"

using namespace cxxrt;
using namespace kunit_testing;
using fake::Client;

namespace {

// Milliseconds, with room for a busy machine: shorter than what it would take otherwise.
constexpr u32 kSoon = 3000;
constexpr u32 kNever = 15000;

// Milliseconds until condition() holds; more than `limit` if it does not.
template <class F> u32 ms_until(u32 limit, F &&condition)
{
	const unsigned long begin = jiffies;
	while (!condition() && jiffies_to_msecs(jiffies - begin) <= limit)
		schedule_timeout_uninterruptible(1);
	return jiffies_to_msecs(jiffies - begin);
}

} // namespace

// An answer is lost, or a cable is out for a moment: that costs from a tenth of a second to a
// second each, not the whole of the time that an attempt has.
CASE(attempts_ask_again_for_an_address)
{
	constexpr u32 kLost = 5; // the sixth is the second one that waits the longest
	auto made = Client::create(1);
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 serial = c.fabric->serial[0];
	const u32 questions = c.fabric->questions[0];
	c.fabric->lost_questions[0] = kLost;
	c.fabric->kill(0, true);
	// A pause of up to 2 s, and a second at most for each question: far from an attempt's time.
	EXPECT(ms_until(kNever, [&] { return c.fabric->serial[0] != serial; }) <= 10000);
	EXPECT(c.fabric->questions[0] - questions > kLost);
	EXPECT_EQ(c.fabric->longest_question, 1000);
	EXPECT_EQ(c.fabric->broken_off, 0);
}

// The connection manager would wait for the question's work item, which has no rescuer.
CASE(attempts_end_without_breaking_off_a_question)
{
	auto made = Client::create(1);
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->mute[0] = true;
	const u32 questions = c.fabric->questions[0];
	c.fabric->kill(0, true);
	REQUIRE(ms_until(5000, [&] { return c.fabric->questions[0] != questions; }) <= 5000);
	Thread closer([&] { c.close(); });
	REQUIRE(closer.start(0));
	schedule_timeout_uninterruptible(HZ / 5);
	EXPECT(!closer.done());
	c.fabric->answer_question(0);
	EXPECT(closer.wait_done().ok());
	EXPECT_EQ(c.fabric->broken_off, 0);
}

CASE(attempts_leave_a_dead_port_at_once)
{
	auto made = Client::create(2, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	// One request on each path.
	const u32 first = c.first_slot();
	for (u32 slot = first; slot < first + 2; slot++) {
		c.io(slot).prepare(slot, false);
		REQUIRE(c.io(slot).submit(c.session) == 0);
	}
	REQUIRE(c.fabric->arrivals(first) && c.fabric->arrivals(first + 1));
	const u32 moves = c.fabric->arrivals(0, first) ? first : first + 1;
	c.fabric->refuse[0] = true;
	c.fabric->pull(0);
	EXPECT(ms_until(kSoon, [&] { return c.fabric->arrivals(1, moves) != 0; }) <= kSoon);
	EXPECT_EQ(c.fabric->asked(1), c.fabric->serial[0]);
	c.fabric->answer_all(1);
	for (u32 slot = first; slot < first + 2; slot++) {
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, 0);
	}
	EXPECT_EQ(c.links_lost, 0);
}

// Without another one a cable that is back soon costs nothing; and another one that comes later
// takes over.
CASE(attempts_keep_the_last_path)
{
	auto made = Client::create(2, {.fences = true});
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->kill(1);
	c.fabric->settle();
	schedule_timeout_uninterruptible(HZ / 2);
	const u32 slot = c.first_slot();
	c.io(slot).prepare(slot, false);
	REQUIRE(c.io(slot).submit(c.session) == 0);
	REQUIRE(c.fabric->wait_arrival(0, slot));
	c.fabric->pull(0);
	schedule_timeout_uninterruptible(HZ / 2);
	EXPECT_EQ(c.io(slot).ends(), 0);
	EXPECT_EQ(c.links_lost, 0);
	c.fabric->push(0);
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(c.io(slot).wait().ok());
	EXPECT_EQ(c.io(slot).status, 0);

	REQUIRE(c.io(slot).submit(c.session) == 0);
	REQUIRE(c.fabric->wait_arrival(0, slot, 2));
	c.fabric->pull(0);
	c.fabric->refuse[1] = false;
	// Its pause before the next attempt.
	EXPECT(ms_until(5000, [&] { return c.fabric->arrivals(1, slot) != 0; }) <= 5000);
	EXPECT(c.fabric->answer(1, slot));
	REQUIRE(c.io(slot).wait().ok());
	EXPECT_EQ(c.io(slot).status, 0);
	EXPECT_EQ(c.links_lost, 0);
}

CASE(attempts_begin_when_the_port_is_up)
{
	auto made = Client::create(1, {.reconnect_delay = 30});
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 serial = c.fabric->serial[0];
	c.fabric->kill(0);
	// Pauses of 1 to 2 s and 2 to 4 s; the next one is 4 s at least.
	REQUIRE(ms_until(10000, [&] { return READ_ONCE(c.fabric->refused[0]) >= 2; }) <= 10000);
	schedule_timeout_uninterruptible(HZ / 5);
	c.fabric->refuse[0] = false;
	c.fabric->push(0);
	EXPECT(ms_until(kSoon, [&] { return c.fabric->serial[0] != serial; }) <= kSoon);

	// An attempt that asks for an address finds it by itself.
	c.fabric->mute[0] = true;
	const u32 questions = c.fabric->questions[0];
	const u32 second = c.fabric->serial[0];
	c.fabric->kill(0, true);
	REQUIRE(ms_until(5000, [&] { return c.fabric->questions[0] != questions; }) <= 5000);
	c.fabric->pull(0);
	c.fabric->push(0);
	c.fabric->answer_question(0);
	EXPECT(ms_until(kNever, [&] { return c.fabric->serial[0] != second; }) <= kSoon);
	EXPECT_EQ(c.fabric->broken_off, 0);
}

// The cable goes when the address is known already, and the request for a connection is lost: its
// answer is waited for, but not for long, and not at all when the port is up again.
CASE(attempts_repeat_a_request_that_was_lost)
{
	auto made = Client::create(1, {.reconnect_delay = 30});
	REQUIRE(made.ok());
	Client &c = **made;
	u32 serial = c.fabric->serial[0];
	u32 unheard = c.fabric->unheard[0];
	c.fabric->deaf[0] = true;
	c.fabric->kill(0, true);
	REQUIRE(ms_until(kNever, [&] { return c.fabric->unheard[0] != unheard; }) <= kNever);
	c.fabric->deaf[0] = false;
	EXPECT(ms_until(kNever, [&] { return c.fabric->serial[0] != serial; }) <= 2 * kSoon);
	c.fabric->settle();
	schedule_timeout_uninterruptible(HZ / 2);

	// The third request in a row is waited for 6 s.
	serial = c.fabric->serial[0];
	unheard = c.fabric->unheard[0];
	c.fabric->deaf[0] = true;
	c.fabric->kill(0, true);
	REQUIRE(ms_until(kNever, [&] { return c.fabric->unheard[0] - unheard >= 3; }) <= kNever);
	c.fabric->pull(0);
	c.fabric->deaf[0] = false;
	c.fabric->push(0);
	EXPECT(ms_until(kNever, [&] { return c.fabric->serial[0] != serial; }) <= kSoon);
}

// A server of this project has all requests before it answers the first one, and answers in
// whatever order; one that may not be ours is asked one after the other.
CASE(attempts_connect_side_by_side)
{
	{
		auto made = Client::create(1, {.fences = true, .queues = 7, .gather = 7});
		REQUIRE(made.ok());
		EXPECT_EQ((**made).fabric->most_open, 7);
	}
	auto made = Client::create(1, {.queues = 7, .gather = 1});
	REQUIRE(made.ok());
	EXPECT_EQ((**made).fabric->most_open, 1);
}

// A burst has a bound.
CASE(attempts_connect_so_many_at_once)
{
	auto made = Client::create(1, {.fences = true, .queues = 40, .gather = 32});
	REQUIRE(made.ok());
	EXPECT_EQ((**made).fabric->most_open, 32);
}

// One of several is refused, while others are on their way.
CASE(attempts_end_when_one_of_many_is_refused)
{
	auto made = Client::create(1, {.fences = true, .reconnect_delay = 1, .queues = 7});
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 serial = c.fabric->serial[0];
	const u32 refused = c.fabric->refused[0];
	c.fabric->refuse_cid = 3;
	c.fabric->kill(0, true);
	REQUIRE(ms_until(kNever, [&] { return READ_ONCE(c.fabric->refused[0]) != refused; }) <=
		kNever);
	c.fabric->settle();
	EXPECT(c.fabric->serial[0] != serial);
	c.fabric->refuse_cid = 0;
	const u32 slot = c.first_slot();
	EXPECT(ms_until(kNever, [&] {
		       c.io(slot).prepare(slot, false);
		       return c.io(slot).submit(c.session) == 0;
	       }) <= kNever);
	EXPECT(c.fabric->wait_arrival(0, slot));
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(c.io(slot).wait().ok());
	EXPECT_EQ(c.io(slot).status, 0);
}

// Several questions for the address are open when the session ends: none is broken off.
CASE(attempts_end_without_breaking_off_many_questions)
{
	auto made = Client::create(1, {.fences = true, .queues = 7});
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 questions = c.fabric->questions[0];
	c.fabric->mute_behind[0] = questions + 1;
	c.fabric->kill(0, true);
	REQUIRE(ms_until(5000, [&] { return c.fabric->questions[0] - questions == 8; }) <= 5000);
	Thread closer([&] { c.close(); });
	REQUIRE(closer.start(0));
	schedule_timeout_uninterruptible(HZ / 5);
	EXPECT(!closer.done());
	c.fabric->answer_question(0);
	EXPECT(closer.wait_done().ok());
	EXPECT_EQ(c.fabric->broken_off, 0);
}

// What the device says of its queues is one thing, what it has room for another.
CASE(attempts_shorten_queues_that_do_not_fit)
{
	{
		auto made = Client::create(1, {.send_room = 40});
		REQUIRE(made.ok());
		Client &c = **made;
		EXPECT(c.fabric->longest_queue >= 20 && c.fabric->longest_queue <= 40);
		// All slots at once go through it.
		for (u32 slot = c.first_slot(); slot < fake::kDepth; slot++) {
			c.io(slot).prepare(slot, slot % 2);
			REQUIRE(c.io(slot).submit(c.session) == 0);
		}
		for (u32 slot = c.first_slot(); slot < fake::kDepth; slot++) {
			REQUIRE(c.fabric->wait_arrival(0, slot));
			EXPECT(c.fabric->answer(0, slot));
			REQUIRE(c.io(slot).wait().ok());
			EXPECT_EQ(c.io(slot).status, 0);
		}
	}
	// No room at all is an error, and not for ever tried.
	EXPECT(!Client::create(1, {.send_room = 4}).ok());
}

// Adapters know few sizes, and take any other one for one of these.
CASE(attempts_register_pages_the_device_knows)
{
	{
		auto made = Client::create(1, {.page_sizes = 1ull << 12 | 1ull << 21 | 1ull << 30});
		REQUIRE(made.ok());
		Client &c = **made;
		const u32 slot = c.first_slot();
		c.io(slot).prepare(slot, false);
		REQUIRE(c.io(slot).submit(c.session) == 0);
		REQUIRE(c.fabric->wait_arrival(0, slot));
		EXPECT(c.fabric->answer(0, slot));
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, 0);
		EXPECT_EQ(c.fabric->unknown_pages, 0);
	}
	EXPECT(!Client::create(1, {.page_sizes = 1ull << 16 | 1ull << 21}).ok());
}
