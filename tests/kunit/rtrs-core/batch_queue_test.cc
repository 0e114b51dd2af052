// SPDX-License-Identifier: GPL-2.0
// The work and poll functions of a completion queue that is handled in batches, as they are
// compiled into the module, over a device that gives out what the case says.
#include "case.hh"
#include "cases.h"
#include "queue.hh"

using namespace cxxrt;
using namespace kunit_testing;
using fake::kMaxBatch;
using fake::Queue;

namespace {

constexpr ib_poll_context kContexts[] = {IB_POLL_WORKQUEUE, IB_POLL_SOFTIRQ};

} // namespace

// None is lost, doubled or overtaken, however many there are; and the queue is armed when it is
// empty, once.
CASE(batch_queue_hands_on_everything)
{
	const u32 counts[] = {0, 1, kMaxBatch - 1, kMaxBatch, kMaxBatch + 1, 10 * kMaxBatch};
	for (const ib_poll_context context : kContexts)
		for (const u32 count : counts) {
			auto made = Queue::create(context);
			REQUIRE(made.ok());
			Queue &q = **made;
			q.waiting = count;
			q.interrupt();
			EXPECT_EQ(q.handled, count);
			EXPECT_EQ(q.disordered, 0);
			EXPECT(q.largest <= kMaxBatch);
			EXPECT_EQ(q.batches, DIV_ROUND_UP(count, kMaxBatch));
			EXPECT_EQ(q.armed, 1);
			EXPECT_EQ(q.armed_in_vain, 0);
			// Of no effect on those to come.
			rtrs::await_batch(q);
			q.waiting = 1;
			q.interrupt();
			EXPECT_EQ(q.handled, count + 1);
		}
}

// No interrupt comes for what was there before the queue was armed.
CASE(batch_queue_misses_nothing_while_it_is_armed)
{
	for (const ib_poll_context context : kContexts) {
		auto made = Queue::create(context);
		REQUIRE(made.ok());
		Queue &q = **made;
		q.waiting = 3;
		q.late = 2;
		q.interrupt();
		EXPECT_EQ(q.handled, 5);
		EXPECT_EQ(q.armed, 2);
		EXPECT_EQ(q.waiting, 0);
	}
}

// A flood lets other work have its turn, without the queue being armed in the midst of it.
CASE(batch_queue_yields_in_a_flood)
{
	constexpr u32 kFlood = 5000;
	for (const ib_poll_context context : kContexts) {
		auto made = Queue::create(context);
		REQUIRE(made.ok());
		Queue &q = **made;
		q.waiting = kFlood;
		q.interrupt();
		// The softirq lets others have their turn by its budget and its own thread.
		if (context == IB_POLL_WORKQUEUE) {
			EXPECT(q.seen_by_other > 0);
			EXPECT(q.seen_by_other < kFlood);
		}
		EXPECT_EQ(q.handled, kFlood);
		EXPECT_EQ(q.disordered, 0);
		EXPECT_EQ(q.armed_in_vain, 0);
	}
}

// Completions of sends interrupt nobody, and are found with the next receive, before it.
CASE(quiet_sends_come_with_receives)
{
	auto made = Queue::create(IB_POLL_SOFTIRQ);
	REQUIRE(made.ok());
	Queue &q = **made;
	for (u32 i = 0; i < 3; i++)
		REQUIRE(q.post().ok());
	q.complete_sends(2);
	q.settle();
	EXPECT_EQ(q.batches, 0);
	q.waiting = 1;
	q.interrupt();
	EXPECT_EQ(q.batches, 1);
	EXPECT_EQ(q.sends_handled, 2);
	EXPECT_EQ(q.handled, 1);
	EXPECT_EQ(q.sends_behind_receives, 0);
	EXPECT_EQ(q.sends_armed, 0);
}

// However many of both: none is lost or overtaken.
CASE(quiet_sends_flood)
{
	const u32 counts[] = {1, kMaxBatch - 1, kMaxBatch, kMaxBatch + 1, 10 * kMaxBatch};
	for (const u32 sends : counts)
		for (const u32 receives : counts) {
			auto made = Queue::create(IB_POLL_SOFTIRQ);
			REQUIRE(made.ok());
			Queue &q = **made;
			for (u32 i = 0; i < sends; i++)
				REQUIRE(q.post().ok());
			q.complete_sends(sends);
			q.waiting = receives;
			q.interrupt();
			EXPECT_EQ(q.sends_handled, sends);
			EXPECT_EQ(q.handled, receives);
			EXPECT_EQ(q.disordered, 0);
			EXPECT(q.largest <= 2 * kMaxBatch);
		}
}

// Who waits is woken: by what has completed before he said so, by what completes afterwards, and by
// what does so while a poll arms the queue.
CASE(quiet_sends_wake_who_waits)
{
	auto made = Queue::create(IB_POLL_SOFTIRQ);
	REQUIRE(made.ok());
	Queue &q = **made;
	REQUIRE(q.post().ok());
	q.complete_sends(1);
	q.await_sends();
	q.settle();
	EXPECT_EQ(q.sends_handled, 1);
	REQUIRE(q.post().ok());
	q.await_sends();
	q.settle();
	EXPECT_EQ(q.sends_handled, 1);
	q.complete_sends(1);
	q.settle();
	EXPECT_EQ(q.sends_handled, 2);
	// In a handler nothing is armed before the poll ends.
	REQUIRE(q.post().ok());
	const u32 armed = q.sends_armed;
	q.await_in_handler = true;
	q.late_sends = 1;
	q.waiting = 1;
	q.interrupt();
	EXPECT_EQ(q.sends_armed, armed + 1);
	EXPECT_EQ(q.sends_handled, 3);
	// And nobody waits any more.
	REQUIRE(q.post().ok());
	q.complete_sends(1);
	q.settle();
	EXPECT_EQ(q.sends_handled, 3);
}

// The wait is over when all is covered that had been posted, not with the first completion.
CASE(quiet_sends_wake_until_all_is_covered)
{
	auto made = Queue::create(IB_POLL_SOFTIRQ);
	REQUIRE(made.ok());
	Queue &q = **made;
	for (u32 i = 0; i < 3; i++)
		REQUIRE(q.post().ok());
	q.await_sends();
	for (u32 i = 1; i <= 3; i++) {
		q.complete_sends(1);
		q.settle();
		EXPECT_EQ(q.sends_handled, i);
	}
}

// A queue without room wakes as well, whoever it is that found none.
CASE(quiet_sends_make_room)
{
	auto made = Queue::create(IB_POLL_SOFTIRQ);
	REQUIRE(made.ok());
	Queue &q = **made;
	u32 posted = 0;
	while (q.post().ok())
		posted++;
	EXPECT_EQ(posted, fake::kRoom);
	q.complete_sends(1);
	q.settle();
	EXPECT_EQ(q.sends_handled, 1);
	EXPECT(q.post().ok());
}

// Why a queue pair broke is said by the first send that failed, before all that was flushed then;
// also by one that had asked for no completion.
CASE(quiet_sends_tell_why_first)
{
	for (int signaled = 0; signaled < 2; signaled++) {
		auto made = Queue::create(IB_POLL_SOFTIRQ);
		REQUIRE(made.ok());
		Queue &q = **made;
		if (signaled)
			REQUIRE(q.post().ok());
		q.failed_sends = 40;
		q.flushed_receives = 40;
		q.interrupt();
		EXPECT_EQ(q.failed_handled, 80);
		EXPECT_EQ(q.first_failure, IB_WC_RETRY_EXC_ERR);
		EXPECT_EQ(q.sends_behind_receives, 0);
	}
}
