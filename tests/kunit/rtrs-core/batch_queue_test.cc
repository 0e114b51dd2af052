// SPDX-License-Identifier: GPL-2.0
// The work and poll functions of a completion queue that is handled in batches, as they are
// compiled into the module, over a device that gives out what the case says.
#include <cxxrt/memory.hh>
#include <cxxrt/work.hh>
#include <rtrs/core/batch_queue.hh>

#include "case.hh"
#include "cases.h"

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;

namespace {

constexpr u32 kMaxBatch = 16;
constexpr int kWeight = 64; // of the softirq
constexpr ib_poll_context kContexts[] = {IB_POLL_WORKQUEUE, IB_POLL_SOFTIRQ};

// A queue with its device and its connection.
struct Queue : rtrs_connection {
	static Result<Box<Queue>> create(ib_poll_context context);
	~Queue()
	{
		if (cq && cq->poll_ctx == IB_POLL_SOFTIRQ)
			irq_poll_disable(&queue->iop);
		else if (wq)
			cancel_work_sync(&queue->work);
		other.cancel_sync();
	}
	// Somebody else's work, which has come after the first batch.
	void look() { seen_by_other = handled; }
	// As when the device's interrupt has come; until nothing is left to run.
	void interrupt()
	{
		if (cq->poll_ctx == IB_POLL_SOFTIRQ) {
			irq_poll_sched(&queue->iop);
			do
				schedule_timeout_uninterruptible(1);
			while (test_bit(IRQ_POLL_F_SCHED, &queue->iop.state) || READ_ONCE(waiting));
			return;
		}
		queue_work(queue->comp_wq, &queue->work);
		do
			wq.flush();
		while (work_busy(&queue->work));
	}

	u32 waiting = 0; // completions that the device has
	u32 late = 0;	 // that come while the queue is armed
	u32 given = 0;
	u32 handled = 0;
	u32 batches = 0;
	u32 largest = 0;
	u32 disordered = 0;
	u32 seen_by_other = 0;
	u32 armed = 0;
	u32 armed_in_vain = 0; // with completions that were there before

	Workqueue wq;
	Box<ib_device> ibdev;
	Box<ib_cq> queue;
	Work<Queue, &Queue::look> other{this};
};

Queue &of(ib_cq *cq)
{
	return *static_cast<Queue *>(static_cast<rtrs_connection *>(cq->cq_context));
}

int poll_cq(ib_cq *cq, int room, ib_wc *completions)
{
	Queue &q = of(cq);
	int n = 0;
	for (; n < room && q.waiting; n++, q.waiting--) {
		completions[n] = {};
		completions[n].byte_len = q.given++;
	}
	return n;
}

int req_notify_cq(ib_cq *cq, ib_cq_notify_flags flags)
{
	Queue &q = of(cq);
	q.armed++;
	q.armed_in_vain += q.waiting != 0;
	q.waiting += exchange(q.late, u32{0});
	return q.waiting && (flags & IB_CQ_REPORT_MISSED_EVENTS);
}

void handle(rtrs_connection *con, ib_wc *completions, u32 count)
{
	Queue &q = *static_cast<Queue *>(con);
	for (u32 i = 0; i < count; i++)
		q.disordered += completions[i].byte_len != q.handled++;
	q.batches++;
	q.largest = max_of(q.largest, count);
	if (q.batches == 1)
		q.other.queue(q.wq);
}

void never(work_struct *) {}

int never_poll(irq_poll *, int)
{
	return 0;
}

Result<Box<Queue>> Queue::create(ib_poll_context context)
{
	Box<Queue> q = TRY(make_box<Queue>(GFP_KERNEL));
	q->ibdev = TRY(make_box<ib_device>(GFP_KERNEL));
	q->ibdev->ops.poll_cq = poll_cq;
	q->ibdev->ops.req_notify_cq = req_notify_cq;
	q->queue = TRY(make_box<ib_cq>(GFP_KERNEL));
	q->cq = q->queue.get();
	q->cq->device = q->ibdev.get();
	q->cq->cq_context = static_cast<rtrs_connection *>(q.get());
	q->cq->poll_ctx = context;
	if (context == IB_POLL_SOFTIRQ)
		irq_poll_init(&q->cq->iop, kWeight, never_poll);
	else
		INIT_WORK(&q->cq->work, never);
	q->wq = TRY(Workqueue::create("kunit_cq", 0));
	q->cq->comp_wq = q->wq.get();
	TRY(poll_in_batches(*q, handle));
	return q;
}

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
			await_batch(q);
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
