// SPDX-License-Identifier: GPL-2.0
#include "queue.hh"

using namespace cxxrt;

namespace fake {
namespace {

constexpr int kWeight = 64; // of the softirq

void never(work_struct *) {}

int never_poll(irq_poll *, int)
{
	return 0;
}

Queue &of(ib_cq *cq)
{
	return *static_cast<Queue *>(static_cast<rtrs_connection *>(cq->cq_context));
}

} // namespace

Result<Box<ib_cq>> Queue::make_cq(ib_poll_context context)
{
	Box<ib_cq> cq = TRY(make_box<ib_cq>(GFP_KERNEL));
	cq->device = ibdev_.get();
	cq->cq_context = static_cast<rtrs_connection *>(this);
	cq->poll_ctx = context;
	cq->comp_wq = wq_.get();
	if (context == IB_POLL_SOFTIRQ)
		irq_poll_init(&cq->iop, kWeight, never_poll);
	else
		INIT_WORK(&cq->work, never);
	return cq;
}

Result<Box<Queue>> Queue::create(ib_poll_context context)
{
	Box<Queue> q = TRY(make_box<Queue>(GFP_KERNEL));
	q->counters_ = TRY(PerCpu<rtrs::WrCounters>::create());
	q->wq_ = TRY(Workqueue::create("kunit_cq", 0));
	q->ibdev_ = TRY(make_box<ib_device>(GFP_KERNEL));
	q->ibdev_->ops.poll_cq = poll_cq;
	q->ibdev_->ops.req_notify_cq = req_notify_cq;
	q->ibdev_->ops.post_send = take;
	q->qp_.device = q->ibdev_.get();
	rtrs_queue_config config{};
	config.send_wrs = kRoom;
	config.signal_interval = 1;
	config.max_chain = 1;
	TRY(q->create_queues(nullptr, nullptr, config));
	q->qp = &q->qp_;
	q->queue_ = TRY(q->make_cq(context));
	q->cq = q->queue_.get();
	if (context == IB_POLL_SOFTIRQ) {
		q->sends_ = TRY(q->make_cq(context));
		q->send_cq = q->sends_.get();
	}
	TRY(poll_in_batches(*q, handle));
	return q;
}

Queue::~Queue()
{
	if (cq && cq->poll_ctx == IB_POLL_SOFTIRQ)
		irq_poll_disable(&cq->iop);
	else if (cq)
		cancel_work_sync(&cq->work);
	other_.cancel_sync();
	qp = nullptr;
}

void Queue::settle()
{
	if (cq->poll_ctx == IB_POLL_SOFTIRQ) {
		do
			schedule_timeout_uninterruptible(1);
		while (test_bit(IRQ_POLL_F_SCHED, &cq->iop.state));
		return;
	}
	do
		wq_.flush();
	while (work_busy(&cq->work));
}

void Queue::interrupt()
{
	if (cq->poll_ctx == IB_POLL_SOFTIRQ)
		irq_poll_sched(&cq->iop);
	else
		queue_work(cq->comp_wq, &cq->work);
	settle();
}

Status Queue::post()
{
	ib_send_wr wr{};
	return post_send(&wr, &wr, {.work_requests = 1}, rtrs::Signal::Always);
}

void Queue::complete_sends(u32 count)
{
	sends_waiting += count;
	if (exchange(sends_interrupt_, false))
		send_cq->comp_handler(send_cq, send_cq->cq_context);
}

// ---- the device ----

int Queue::take(ib_qp *, const ib_send_wr *, const ib_send_wr **)
{
	return 0;
}

int Queue::poll_sends(int room, ib_wc *completions)
{
	int n = 0;
	for (; n < room && (sends_waiting || failed_sends); n++) {
		completions[n] = {};
		completions[n].opcode = IB_WC_SEND;
		if (sends_waiting) {
			sends_waiting--;
			continue;
		}
		failed_sends--;
		completions[n].status =
		    exchange(failed_, true) ? IB_WC_WR_FLUSH_ERR : IB_WC_RETRY_EXC_ERR;
	}
	return n;
}

int Queue::poll_receives(int room, ib_wc *completions)
{
	int n = 0;
	for (; n < room && (waiting || flushed_receives); n++) {
		completions[n] = {};
		completions[n].opcode = IB_WC_RECV;
		if (waiting) {
			waiting--;
			completions[n].byte_len = given_++;
			continue;
		}
		flushed_receives--;
		completions[n].status = IB_WC_WR_FLUSH_ERR;
	}
	return n;
}

int Queue::poll_cq(ib_cq *cq, int room, ib_wc *completions)
{
	Queue &q = of(cq);
	return cq == q.cq ? q.poll_receives(room, completions) : q.poll_sends(room, completions);
}

int Queue::req_notify_cq(ib_cq *cq, ib_cq_notify_flags flags)
{
	Queue &q = of(cq);
	bool missed;
	if (cq == q.cq) {
		q.armed++;
		q.armed_in_vain += q.waiting != 0;
		q.waiting += exchange(q.late, u32{0});
		missed = q.waiting != 0;
	} else {
		q.sends_armed++;
		q.sends_waiting += exchange(q.late_sends, u32{0});
		missed = q.sends_waiting != 0;
		q.sends_interrupt_ = !missed;
	}
	return missed && (flags & IB_CQ_REPORT_MISSED_EVENTS);
}

// ---- the connection ----

void Queue::handle_one(const ib_wc &wc, bool &receives)
{
	const bool send = wc.opcode == IB_WC_SEND;
	const bool failed = wc.status != IB_WC_SUCCESS;
	sends_behind_receives += send && (receives || broken_receives_);
	receives |= !send;
	broken_receives_ |= failed && !send;
	if (failed) {
		if (!failed_handled++)
			first_failure = wc.status;
	} else if (send) {
		send_completed();
		sends_handled++;
	} else {
		disordered += wc.byte_len != handled++;
		if (exchange(await_in_handler, false))
			await_sends_in_handler();
	}
}

void Queue::handle(rtrs_connection *con, ib_wc *completions, u32 count)
{
	Queue &q = *static_cast<Queue *>(con);
	bool receives = false;
	for (u32 i = 0; i < count; i++)
		q.handle_one(completions[i], receives);
	q.batches++;
	q.largest = max_of(q.largest, count);
	if (q.batches == 1)
		q.other_.queue(q.wq_);
}

} // namespace fake
