// SPDX-License-Identifier: GPL-2.0
// Requests that are submitted together: one doorbell, and none is forgotten, whatever becomes of
// the last one, of the queue or of the path.
#include "cases.h"
#include "threads.hh"
#include "user.hh"

using namespace cxxrt;
using namespace kunit_testing;
using fake::Client;
using fake::kDepth;

namespace {

u32 slots(const Client &c)
{
	return kDepth - c.first_slot();
}

// Submits a request for each of `count` slots, all with `more`, every other one a read. How many
// were accepted.
u32 submit_all(Client &c, u32 count)
{
	u32 accepted = 0;
	for (u32 slot = c.first_slot(); slot < c.first_slot() + count; slot++) {
		c.io(slot).prepare(slot, slot % 2);
		accepted += c.io(slot).submit(c.session, true) == 0;
	}
	return accepted;
}

u32 arrived(const Client &c)
{
	u32 sum = 0;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++)
		sum += c.fabric->arrivals(slot);
	return sum;
}

// Answers all that have arrived, on whichever path, until each has ended.
void expect_served(kunit *test, Client &c, u32 count)
{
	for (u32 slot = c.first_slot(); slot < c.first_slot() + count; slot++) {
		EXPECT(c.fabric->wait_arrival(c.fabric->arrivals(1, slot) ? 1 : 0, slot));
		EXPECT(c.fabric->answer(0, slot) || c.fabric->answer(1, slot));
		EXPECT(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).status, 0);
		EXPECT_EQ(c.io(slot).ends(), 1);
		EXPECT_EQ(c.io(slot).open_at_end, 0);
		EXPECT_EQ(c.io(slot).sent_at_end, 0);
	}
	EXPECT_EQ(c.fabric->open_regions(), 0);
}

} // namespace

CASE(batch_goes_with_its_last)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 most = slots(c) - 1;
	const u32 last = c.first_slot() + most;
	EXPECT_EQ(submit_all(c, most), most);
	c.fabric->settle();
	EXPECT_EQ(arrived(c), 0);
	c.io(last).prepare(last, false);
	EXPECT_EQ(c.io(last).submit(c.session), 0);
	EXPECT_EQ(arrived(c), slots(c));
	EXPECT_EQ(c.fabric->posts(), 1);
	expect_served(test, c, slots(c));
	// One alone is not kept.
	EXPECT_EQ(c.io(last).submit(c.session), 0);
	EXPECT_EQ(arrived(c), slots(c) + 1);
	EXPECT(c.fabric->answer(0, last));
	REQUIRE(c.io(last).wait().ok());
}

CASE(batch_goes_when_it_is_committed)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(submit_all(c, slots(c)), slots(c));
	c.fabric->settle();
	EXPECT_EQ(arrived(c), 0);
	rtrs_clt_commit(c.session, 0, 0);
	EXPECT_EQ(arrived(c), slots(c));
	EXPECT_EQ(c.fabric->posts(), 1);
	rtrs_clt_commit(c.session, 0, 0);
	EXPECT_EQ(c.fabric->posts(), 1);
	expect_served(test, c, slots(c));
}

// Those that are answered together are handed on as such; one alone is not.
CASE(batch_of_answers_ends_together)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	u32 together = 0;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		c.io(slot).prepare(slot, false);
		EXPECT_EQ(c.io(slot).submit(c.session, slot + 1 < kDepth), 0);
	}
	c.fabric->settle();
	EXPECT_EQ(c.fabric->answer_all(0), slots(c));
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		REQUIRE(c.io(slot).wait().ok());
		together += c.io(slot).together;
	}
	EXPECT(together > slots(c) / 2);
	fake::Io &alone = c.io(c.first_slot());
	alone.together = 0;
	EXPECT_EQ(alone.submit(c.session), 0);
	c.fabric->settle();
	EXPECT(c.fabric->answer(0, c.first_slot()));
	REQUIRE(alone.wait().ok());
	EXPECT_EQ(alone.together, 0);
}

// One completion for all that a batch writes, and all of them wait for it; who came first in the
// queue, and who only reads, does not.
CASE(batch_of_writes_waits_for_one_completion)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 first = c.first_slot();
	c.io(first).prepare(first, false);
	EXPECT_EQ(c.io(first).submit(c.session), 0);
	c.fabric->settle();
	c.fabric->hold_sends = true;
	const u64 completions = c.fabric->sends_signaled(0, 1);
	for (u32 slot = first + 1; slot < kDepth; slot++) {
		c.io(slot).prepare(slot, false);
		EXPECT_EQ(c.io(slot).submit(c.session, slot + 1 < kDepth), 0);
	}
	EXPECT_EQ(c.fabric->posts(), 2);
	EXPECT_EQ(c.fabric->sends_signaled(0, 1), completions + 1);
	EXPECT_EQ(c.fabric->answer_all(0), slots(c));
	REQUIRE(c.io(first).wait().ok());
	c.fabric->settle();
	for (u32 slot = first + 1; slot < kDepth; slot++)
		EXPECT_EQ(c.io(slot).ends(), 0);
	c.fabric->release_held();
	for (u32 slot = first; slot < kDepth; slot++) {
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).sent_at_end, 0);
		EXPECT_EQ(c.io(slot).ends(), 1);
	}
}

CASE(batch_goes_on_every_path)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("mp_policy", "round-robin"), 11);
	EXPECT_EQ(submit_all(c, slots(c)), slots(c));
	EXPECT_EQ(arrived(c), 0);
	rtrs_clt_commit(c.session, 0, 0);
	EXPECT_EQ(arrived(c), slots(c));
	EXPECT_EQ(c.fabric->posts(), 2);
	expect_served(test, c, slots(c));
}

CASE(batch_goes_when_its_last_is_refused)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	const u32 last = kDepth - 1;
	EXPECT_EQ(submit_all(c, slots(c) - 1), slots(c) - 1);
	c.io(last).prepare(last, false);
	c.io(last).request.msg_len = RTRS_MAX_USER_MSG + 1;
	EXPECT_EQ(c.io(last).submit(c.session), -EMSGSIZE);
	rtrs_clt_commit(c.session, 0, 0);
	EXPECT_EQ(arrived(c), slots(c) - 1);
	expect_served(test, c, slots(c) - 1);
}

// What was posted before is answered, but the queue has not said yet that its room is free.
CASE(batch_waits_for_room)
{
	constexpr u32 kQueue = 40;
	auto made = Client::create(1, {.queue = kQueue});
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->hold_sends = true;
	u32 submitted = 0;
	while (submitted < kQueue) {
		for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
			if (c.io(slot).ends() != c.io(slot).submitted)
				REQUIRE(c.io(slot).wait().ok());
			c.io(slot).prepare_empty(slot);
			EXPECT_EQ(c.io(slot).submit(c.session, true), 0);
			submitted++;
		}
		rtrs_clt_commit(c.session, 0, 0);
		for (u32 slot = c.first_slot(); slot < kDepth; slot++)
			c.fabric->answer(0, slot);
		c.fabric->settle();
	}
	EXPECT(arrived(c) < submitted);
	c.fabric->release_held();
	c.fabric->settle();
	EXPECT_EQ(arrived(c), submitted);
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		c.fabric->answer(0, slot);
		REQUIRE(c.io(slot).wait().ok());
		EXPECT_EQ(c.io(slot).ends(), c.io(slot).submitted);
	}
}

CASE(batch_passes_the_throttle)
{
	auto made = Client::create(1, {.soft_roce = true});
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(submit_all(c, slots(c)), slots(c));
	c.fabric->settle();
	EXPECT_EQ(arrived(c), 0);
	rtrs_clt_commit(c.session, 0, 0);
	// Writes, and reads behind one guard.
	EXPECT_EQ(arrived(c), slots(c));
	EXPECT_EQ(c.fabric->posts(), 2);
	expect_served(test, c, slots(c));
}

// Those that the throttle holds go when a send completes that nobody waited for before: at once,
// with nothing received, and not when somebody looks whether the queue stands still.
CASE(batch_is_held_till_a_completion)
{
	auto made = Client::create(1, {.soft_roce = true});
	REQUIRE(made.ok());
	Client &c = **made;
	for (u32 i = 0; i < 20; i++) {
		c.fabric->hold_sends = true;
		const u32 before = arrived(c);
		for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
			c.io(slot).prepare(slot, true);
			EXPECT_EQ(c.io(slot).submit(c.session), 0);
		}
		c.fabric->settle();
		EXPECT_EQ(arrived(c), before + 2);
		c.fabric->release_held();
		c.fabric->settle();
		EXPECT_EQ(arrived(c), before + slots(c));
		for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
			EXPECT(c.fabric->answer(0, slot));
			REQUIRE(c.io(slot).wait().ok());
		}
	}
}

// A server that answers what it has not got.
CASE(batch_is_not_answered_before)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	for (u32 read = 0; read < 2; read++) {
		const u32 slot = c.first_slot() + read;
		fake::Io &io = c.io(slot);
		io.prepare(slot, read);
		EXPECT_EQ(io.submit(c.session), 0);
		EXPECT(c.fabric->answer(0, slot));
		REQUIRE(io.wait().ok());
		EXPECT_EQ(io.submit(c.session, true), 0);
		EXPECT(c.fabric->answer(0, slot));
		c.fabric->settle();
		EXPECT_EQ(io.ends(), 1);
		rtrs_clt_commit(c.session, 0, 0);
		EXPECT_EQ(c.fabric->arrivals(0, slot), 2);
		EXPECT(c.fabric->answer(0, slot));
		REQUIRE(io.wait().ok());
		EXPECT_EQ(io.ends(), 2);
		EXPECT_EQ(io.open_at_end, 0);
	}
}

CASE(batch_moves_with_its_path)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("mp_policy", "round-robin"), 11);
	EXPECT_EQ(submit_all(c, slots(c)), slots(c));
	EXPECT_EQ(arrived(c), 0);
	c.fabric->kill(0);
	// The half of it that was collected there comes here, and takes along what is here already.
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		REQUIRE(c.fabric->wait_arrival(1, slot));
		EXPECT_EQ(c.fabric->arrivals(0, slot), 0);
	}
	rtrs_clt_commit(c.session, 0, 0);
	EXPECT_EQ(arrived(c), slots(c));
	expect_served(test, c, slots(c));
	EXPECT_EQ(c.links_lost, 0);
}

CASE(batch_ends_with_the_session)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(submit_all(c, slots(c)), slots(c));
	c.close();
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		EXPECT_EQ(c.io(slot).ends(), 1);
		EXPECT_EQ(c.io(slot).status, -ECONNABORTED);
		EXPECT_EQ(c.io(slot).open_at_end, 0);
	}
	EXPECT_EQ(arrived(c), 0);
}

// A user that never says where its batch ends.
CASE(batch_is_found_when_forgotten)
{
	auto made = Client::create();
	REQUIRE(made.ok());
	Client &c = **made;
	// From the next connection on ages are looked at twice a second.
	EXPECT_EQ(c.write("request_timeout", "2"), 1);
	c.fabric->kill(0, true);
	int code = -1;
	for (int i = 0; i < 200 && code; i++) {
		schedule_timeout_uninterruptible(HZ / 20 + 1);
		code = c.io(c.first_slot()).submitted ? 0 : submit_all(c, 1) ? 0 : -1;
	}
	REQUIRE(code == 0);
	expect_served(test, c, 1);
}

// Two submit in batches of their own to one connection, one answers everything on both paths,
// whether asked or not, one takes paths away and lets them come back.
CASE(batch_races_with_the_end_of_the_path)
{
	for (u32 soft = 0; soft < 2; soft++) {
		auto made = Client::create(2, {.queue = 40, .soft_roce = soft == 1});
		REQUIRE(made.ok());
		Client &c = **made;
		u32 running = 2;
		u32 accepted = 0;
		u32 stuck = 0;
		for (u32 slot = c.first_slot(); slot < kDepth; slot++)
			c.io(slot).prepare(slot, slot % 4 < 2);
		REQUIRE(side_by_side<4>([&](unsigned int role) {
			if (role < 2) {
				const unsigned long end = jiffies + 4 * HZ;
				const u32 first = c.first_slot() + role;
				for (u32 n = 0; time_before(jiffies, end); n++) {
					const u32 size = 1 + n % (slots(c) / 2);
					for (u32 i = 0; i < size; i++) {
						fake::Io &io = c.io(first + i * 2);
						if (io.ends() == io.submitted)
							accepted += io.submit(c.session, true) == 0;
						if (n % 5 == 0)
							breathe();
					}
					rtrs_clt_commit(c.session, 0, 0);
					breathe();
				}
				for (u32 slot = first; slot < kDepth; slot += 2)
					if (!c.io(slot).wait().ok())
						__atomic_add_fetch(&stuck, 1u, __ATOMIC_SEQ_CST);
				__atomic_sub_fetch(&running, 1u, __ATOMIC_SEQ_CST);
			} else if (role == 2) {
				for (u32 n = 0; READ_ONCE(running); n++) {
					c.fabric->answer(n / kDepth % 2, n % kDepth);
					if (n % 7 == 0)
						breathe();
				}
			} else {
				for (u32 n = 0; READ_ONCE(running); n++) {
					c.fabric->kill(n % 2, true);
					schedule_timeout_uninterruptible(HZ / 4);
				}
			}
		}));
		EXPECT_EQ(stuck, 0);
		EXPECT(accepted > 100);
		c.close();
		EXPECT_EQ(c.fabric->open_regions(), 0);
		for (u32 slot = 0; slot < kDepth; slot++) {
			EXPECT_EQ(c.io(slot).ends(), c.io(slot).submitted);
			EXPECT_EQ(c.io(slot).open_at_end, 0);
			EXPECT_EQ(c.io(slot).sent_at_end, 0);
		}
	}
}

// Requests that go alone, in a queue that is full now and then, on a device with a throttle: no
// path ends that could end them, so one that the completions forget is stuck.
CASE(batch_throttle_forgets_nobody)
{
	auto made = Client::create(1, {.queue = 40, .soft_roce = true});
	REQUIRE(made.ok());
	Client &c = **made;
	u32 running = 2;
	u32 accepted = 0;
	u32 stuck = 0;
	for (u32 slot = c.first_slot(); slot < kDepth; slot++)
		c.io(slot).prepare(slot, slot % 8 < 6);
	REQUIRE(side_by_side<3>([&](unsigned int role) {
		if (role < 2) {
			const unsigned long end = jiffies + 2 * HZ;
			const u32 first = c.first_slot() + role;
			for (u32 n = 0; time_before(jiffies, end); n++) {
				const u32 size = 1 + n % (slots(c) / 2);
				for (u32 i = 0; i < size; i++) {
					fake::Io &io = c.io(first + i * 2);
					if (io.ends() == io.submitted)
						accepted += io.submit(c.session) == 0;
					if (n % 3 == 0)
						breathe();
				}
				breathe();
			}
			for (u32 slot = first; slot < kDepth; slot += 2)
				if (!c.io(slot).wait().ok())
					__atomic_add_fetch(&stuck, 1u, __ATOMIC_SEQ_CST);
			__atomic_sub_fetch(&running, 1u, __ATOMIC_SEQ_CST);
		} else {
			for (u32 n = 0; READ_ONCE(running); n++) {
				// An answer to who has asked: others would be strays.
				const u32 slot = n % kDepth;
				fake::Io &io = c.io(slot);
				if (io.ends() != READ_ONCE(io.submitted))
					c.fabric->answer(0, slot);
				if (n % 7 == 0)
					breathe();
			}
		}
	}));
	EXPECT_EQ(stuck, 0);
	EXPECT(accepted > 100);
	EXPECT_EQ(c.links_lost, 0);
}
