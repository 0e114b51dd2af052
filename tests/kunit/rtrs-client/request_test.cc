// SPDX-License-Identifier: GPL-2.0
// The life of a request: whatever becomes of the server and of the path, it ends once, and not
// before its memory is closed to the server and the device sends nothing of it any more.
#include "cases.h"
#include "threads.hh"
#include "user.hh"

using namespace cxxrt;
using namespace kunit_testing;
using fake::Client;
using fake::Io;
using fake::kDepth;

namespace {

// Every request that was accepted has ended once, with its memory closed, and sent for good.
void expect_ended(kunit *test, Client &c)
{
	for (u32 slot = 0; slot < kDepth; slot++) {
		EXPECT_EQ(c.io(slot).ends(), c.io(slot).submitted);
		EXPECT_EQ(c.io(slot).open_at_end, 0);
		EXPECT_EQ(c.io(slot).sent_at_end, 0);
	}
}

} // namespace

CASE(request_ends_by_its_answer)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare(slot, false);
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT_EQ(c.fabric->arrivals(0, slot), 1);
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 0);
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(io.wait().ok());
	EXPECT_EQ(io.status, 0);
	// The server's own errors come through.
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT(c.fabric->answer(0, slot, -ENOSPC));
	REQUIRE(io.wait().ok());
	EXPECT_EQ(io.status, -ENOSPC);
	expect_ended(test, c);
}

// done() may submit the next request of the slot.
CASE(request_slot_is_free_when_it_ends)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	struct Next {
		rtrs_clt *session;
		int code = 1;
	} next{c.session};
	io.prepare(slot, true);
	io.priv = &next;
	io.at_end = [](Io &ended) {
		Next &n = *static_cast<Next *>(ended.priv);
		if (n.code == 1)
			n.code = ended.submit(n.session);
	};
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(c.fabric->wait_arrival(0, slot, 2));
	EXPECT_EQ(next.code, 0);
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(io.wait().ok());
	EXPECT_EQ(io.ends(), 2);
	expect_ended(test, c);
}

// A server that answers twice, elsewhere, what nobody asked, or nonsense.
CASE(request_ends_once_whatever_the_server_says)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	const u32 other = slot + 1;
	for (u32 read = 0; read < 2; read++) {
		c.io(slot).prepare(slot, read);
		c.io(other).prepare(other, read);
		EXPECT_EQ(c.io(other).submit(c.session), 0);
		EXPECT_EQ(c.io(slot).submit(c.session), 0);
		EXPECT(c.fabric->answer_elsewhere(0, slot));
		EXPECT(
		    c.fabric->say(0, 1, rtrs::response_imm(rtrs::Slot{0}, 0, false).to_network()));
		EXPECT(c.fabric->say(0, 1, ~0u));
		c.fabric->settle();
		EXPECT_EQ(c.io(slot).ends(), read);
		EXPECT(c.fabric->answer(0, slot));
		EXPECT(c.fabric->answer(0, slot));
		EXPECT(c.fabric->answer(0, slot));
		c.fabric->settle();
		EXPECT_EQ(c.io(slot).ends(), read + 1);
		EXPECT_EQ(c.io(other).ends(), read);
		EXPECT(c.fabric->answer(0, other));
		REQUIRE(c.io(other).wait().ok());
	}
	expect_ended(test, c);
	EXPECT_EQ(c.links_lost, 0);
}

CASE(request_of_a_read_ends_with_closed_memory)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare(slot, true);
	for (u32 i = 0; i < 3; i++) {
		EXPECT_EQ(io.submit(c.session), 0);
		// Else the case would prove nothing.
		EXPECT_EQ(c.fabric->open_regions(io.page), 1);
		EXPECT(c.fabric->answer(0, slot, i == 1 ? -EIO : 0));
		REQUIRE(io.wait().ok());
		EXPECT_EQ(io.open_at_end, 0);
	}
	EXPECT_EQ(c.fabric->open_regions(), 0);
}

// What a server invalidates counts for the request that was under way, if its answer comes right
// behind: not for the next one of the slot, whose key is the same where work is repeated.
CASE(request_believes_an_invalidation_once)
{
	auto made = Client::create(1, {.soft_roce = true});
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare(slot, true);
	const auto ends_closed = [&](bool promise) {
		EXPECT(c.fabric->answer(0, slot, 0, promise));
		EXPECT(io.wait().ok());
		EXPECT_EQ(io.open_at_end, 0);
	};
	// As it should be.
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT(c.fabric->invalidate(0, slot, io.page));
	ends_closed(true);
	// Before an answer that does not speak of it.
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT(c.fabric->invalidate(0, slot, io.page));
	ends_closed(false);
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT_EQ(c.fabric->open_regions(io.page), 1);
	ends_closed(true);
	// Behind the answer.
	EXPECT_EQ(io.submit(c.session), 0);
	ends_closed(false);
	EXPECT(c.fabric->invalidate(0, slot, io.page));
	c.fabric->settle();
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT_EQ(c.fabric->open_regions(io.page), 1);
	ends_closed(true);
	expect_ended(test, c);
}

// The answer alone does not end a read: the server could still write to the page.
CASE(request_waits_for_its_invalidation)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare(slot, true);
	c.fabric->hold_invalidations = true;
	EXPECT_EQ(io.submit(c.session), 0);
	EXPECT(c.fabric->answer(0, slot));
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 0);
	EXPECT_EQ(c.fabric->open_regions(io.page), 1);
	// Once more, for one that is answered already.
	EXPECT(c.fabric->answer(0, slot));
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 0);
	c.fabric->release_held();
	// At once, with nothing received, and not when somebody looks whether the queue stands
	// still.
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 1);
	REQUIRE(io.wait().ok());
	EXPECT_EQ(io.status, 0);
	expect_ended(test, c);
}

// The server has answered, but the device does not know yet that it has the page.
CASE(request_of_a_write_waits_until_it_is_sent)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare(slot, false);
	c.fabric->hold_sends = true;
	EXPECT_EQ(io.submit(c.session), 0);
	// Else the case would prove nothing.
	EXPECT_EQ(c.fabric->sending(io.page), 1);
	EXPECT(c.fabric->answer(0, slot, -ENOSPC));
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 0);
	// Once more, for one that is answered already.
	EXPECT(c.fabric->answer(0, slot));
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 0);
	c.fabric->release_held();
	// At once, as above.
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 1);
	REQUIRE(io.wait().ok());
	EXPECT_EQ(io.status, -ENOSPC);
	expect_ended(test, c);
}

// The other way round: nothing is left to wait for.
CASE(request_of_a_write_that_is_sent_ends_by_its_answer)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare(slot, false);
	for (u32 i = 0; i < 100; i++) {
		EXPECT_EQ(io.submit(c.session), 0);
		c.fabric->settle();
		// It has been sent, but that interrupts nobody; but for the first time, as a queue
		// is armed when it is made.
		EXPECT_EQ(c.fabric->sending(io.page), i ? 1 : 0);
		EXPECT_EQ(io.ends(), i);
		// What is behind it in the queue is no matter of it.
		c.fabric->hold_sends = true;
		c.io(slot + 1).prepare(slot + 1, false);
		EXPECT_EQ(c.io(slot + 1).submit(c.session), 0);
		EXPECT(c.fabric->answer(0, slot + 1));
		EXPECT(c.fabric->answer(0, slot));
		REQUIRE(io.wait().ok());
		EXPECT_EQ(c.io(slot + 1).ends(), i);
		c.fabric->release_held();
		REQUIRE(c.io(slot + 1).wait().ok());
	}
	expect_ended(test, c);
}

// The pages are the user's, the message the path's: without pages the answer is enough.
CASE(request_without_pages_ends_by_its_answer)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare_empty(slot);
	c.fabric->hold_sends = true;
	for (u32 i = 0; i < 20; i++) {
		EXPECT_EQ(io.submit(c.session), 0);
		EXPECT(c.fabric->answer(0, slot));
		REQUIRE(io.wait().ok());
	}
	c.fabric->release_held();
	expect_ended(test, c);
}

// The path ends between the two. The server has done it, and said so.
CASE(request_answered_but_not_sent_when_the_path_dies)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->hold_sends = true;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		c.io(slot).prepare(slot, false);
		EXPECT_EQ(c.io(slot).submit(c.session), 0);
		EXPECT(c.fabric->answer(c.fabric->arrivals(1, slot), slot, -ENOSPC));
	}
	c.fabric->settle();
	for (u32 slot = c.first_slot(); slot < kDepth; slot++)
		EXPECT_EQ(c.io(slot).ends(), 0);
	c.fabric->kill(0);
	c.fabric->kill(1);
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, -ENOSPC);
		EXPECT_EQ(c.fabric->arrivals(slot), 1);
	}
	expect_ended(test, c);
}

CASE(request_ends_when_the_path_dies)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		c.io(slot).prepare(slot, slot % 2);
		EXPECT_EQ(c.io(slot).submit(c.session), 0);
	}
	c.fabric->kill(0);
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, -ECONNABORTED);
	}
	EXPECT_EQ(c.fabric->open_regions(), 0);
	expect_ended(test, c);
}

CASE(request_moves_to_the_other_path)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		c.io(slot).prepare(slot, slot % 2);
		EXPECT_EQ(c.io(slot).submit(c.session), 0);
	}
	u32 moved = 0;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++)
		moved += c.fabric->arrivals(0, slot);
	EXPECT(moved > 0);
	c.fabric->kill(0);
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		REQUIRE(c.fabric->wait_arrival(1, slot));
		EXPECT_EQ(c.fabric->arrivals(1, slot), 1);
		EXPECT_EQ(c.io(slot).ends(), 0);
		EXPECT(c.fabric->answer(1, slot));
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, 0);
	}
	EXPECT_EQ(c.links_lost, 0);
	expect_ended(test, c);
}

// The server has done it, and said so; only the invalidation was still to come.
CASE(request_answered_before_the_path_died)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->hold_invalidations = true;
	u32 path[kDepth] = {};
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		c.io(slot).prepare(slot, true);
		EXPECT_EQ(c.io(slot).submit(c.session), 0);
		path[slot] = c.fabric->arrivals(1, slot);
		EXPECT(c.fabric->answer(path[slot], slot, -ENOSPC));
	}
	c.fabric->settle();
	c.fabric->kill(0);
	c.fabric->kill(1);
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, -ENOSPC);
		EXPECT_EQ(c.fabric->arrivals(slot), 1);
	}
	expect_ended(test, c);
}

// An error says that done() will not be called.
CASE(request_is_refused_without_a_path)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 slot = c.first_slot();
	Io &io = c.io(slot);
	io.prepare(slot, true);
	EXPECT_EQ(io.submit(c.session), 0);
	c.fabric->kill(0);
	REQUIRE(io.wait().ok());
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(io.submit(c.session), -ECONNABORTED);
	c.fabric->settle();
	EXPECT_EQ(io.ends(), 1);
	// And it does when the path is back.
	c.fabric->refuse[0] = false;
	int code = -1;
	for (int i = 0; i < 200 && code; i++) {
		schedule_timeout_uninterruptible(HZ / 20 + 1);
		code = io.submit(c.session);
	}
	REQUIRE(code == 0);
	EXPECT(c.fabric->answer(0, slot));
	REQUIRE(io.wait().ok());
	EXPECT_EQ(io.status, 0);
	EXPECT_EQ(io.ends(), 2);
	expect_ended(test, c);
}

CASE(request_ends_before_the_session_is_closed)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		c.io(slot).prepare(slot, slot % 2);
		EXPECT_EQ(c.io(slot).submit(c.session), 0);
	}
	c.close();
	for (u32 slot = c.first_slot(); slot < kDepth; slot++)
		EXPECT(c.io(slot).status < 0);
	EXPECT_EQ(c.fabric->open_regions(), 0);
	expect_ended(test, c);
}

// One thread submits, one answers everything on both paths, whether asked or not, one takes paths
// away and lets them come back.
CASE(request_answers_race_with_the_end_of_the_path)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	bool stop = false;
	u32 accepted = 0;
	u32 stuck = 0;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++)
		c.io(slot).prepare(slot, slot % 2);
	REQUIRE(side_by_side<3>([&](unsigned int role) {
		if (role == 0) {
			const unsigned long end = jiffies + 5 * HZ;
			u32 slot = c.first_slot();
			while (time_before(jiffies, end)) {
				if (c.io(slot).ends() == c.io(slot).submitted)
					accepted += c.io(slot).submit(c.session) == 0;
				if (++slot == kDepth) {
					slot = c.first_slot();
					breathe();
				}
			}
			for (u32 s = c.first_slot(); s < kDepth; s++)
				stuck += !c.io(s).wait().ok();
			WRITE_ONCE(stop, true);
		} else if (role == 1) {
			for (u32 n = 0; !READ_ONCE(stop); n++) {
				c.fabric->answer(n / kDepth % 2, n % kDepth);
				if (n % 7 == 0)
					breathe();
			}
		} else {
			for (u32 n = 0; !READ_ONCE(stop); n++) {
				c.fabric->kill(n % 2, true);
				for (u32 i = 0; i < 5; i++) {
					WRITE_ONCE(c.fabric->hold_sends, i % 2 == 1);
					schedule_timeout_uninterruptible(HZ / 20);
				}
				c.fabric->release_held();
			}
			c.fabric->release_held();
		}
	}));
	EXPECT_EQ(stuck, 0);
	EXPECT(accepted > 100);
	c.close();
	EXPECT_EQ(c.fabric->open_regions(), 0);
	expect_ended(test, c);
}
