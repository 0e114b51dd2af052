// SPDX-License-Identifier: GPL-2.0
#include <rtrs/core/batch_queue.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

constexpr int kBatch = kCompletionBatch;
// After so many the work queue has its turn, with other connections.
constexpr int kBudget = 1024;

int poll(ib_cq *cq, int room, ib_wc *found)
{
	return max_of(ib_poll_cq(cq, room, found), 0);
}

// Completions that were found, no more than `budget`.
int hand_on(rtrs_connection &con, int budget)
{
	int completed = 0;
	int n;
	do {
		const int room = min_of(kBatch, budget - completed);
		n = poll(con.cq, room, con.completions.begin());
		if (!n)
			break;
		con.batch(&con, con.completions.begin(), static_cast<u32>(n));
		completed += n;
	} while (n == kBatch && completed < budget);
	return completed;
}

// The queue pair has broken. Why is said by the send that failed, if one did, which has a
// completion though nobody may have asked for it. All others only say that they were flushed, so
// sends come first, all of them and in their order.
noinline __cold void hand_on_broken(Connection &con, int sends, int receives)
{
	ib_wc *const found = con.completions.begin();
	if (sends)
		con.batch(&con, found, static_cast<u32>(sends));
	ib_wc send;
	while (poll(con.send_cq, 1, &send))
		con.batch(&con, &send, 1);
	if (receives)
		con.batch(&con, found + sends, static_cast<u32>(receives));
}

// The same with quiet sends. They come first, as the answers to them then find them covered.
int hand_on_both(Connection &con, int budget)
{
	ib_wc *const found = con.completions.begin();
	int completed = 0;
	bool full;
	do {
		const int sends = con.may_find_sends() ? poll(con.send_cq, kBatch, found) : 0;
		const int receives = poll(con.cq, kBatch, found + sends);
		const int n = sends + receives;
		if (!n)
			break;
		if (found[n - 1].status == IB_WC_SUCCESS) [[likely]]
			con.batch(&con, found, static_cast<u32>(n));
		else
			hand_on_broken(con, sends, receives);
		completed += n;
		full = sends == kBatch || receives == kBatch;
	} while (full && completed < budget);
	// A last round may have found more.
	return min_of(completed, budget);
}

// True if there are completions that came before it was armed.
bool arm(ib_cq *cq)
{
	return ib_req_notify_cq(cq, static_cast<ib_cq_notify_flags>(
					IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS)) > 0;
}

void adapt(ib_cq *cq, int completed)
{
	if (cq->dim)
		rdma_dim(cq->dim, static_cast<u64>(completed));
}

// The work item of a queue never runs beside itself, so neither do handlers. As long as it is
// queued or running the queue need not be armed. A completion that comes after the last poll and
// before the queue is armed is reported as missed.
void poll_in_work(work_struct *work)
{
	ib_cq *cq = container_of(work, ib_cq, work);
	auto *con = static_cast<rtrs_connection *>(cq->cq_context);
	const int completed = hand_on(*con, kBudget);
	if (completed >= kBudget || arm(cq))
		queue_work(cq->comp_wq, &cq->work); // raw: both are ib_core's
	else
		adapt(cq, completed);
}

// The same for the softirq, which polls again by itself while the budget is spent. Scheduled anew
// it may run on another CPU at once, so nothing of the connection is touched after that.
int poll_in_softirq(irq_poll *iop, int budget)
{
	ib_cq *cq = container_of(iop, ib_cq, iop);
	auto &con = *static_cast<Connection *>(static_cast<rtrs_connection *>(cq->cq_context));
	const int completed = hand_on_both(con, budget);
	adapt(cq, completed);
	if (completed < budget) {
		irq_poll_complete(iop);
		bool missed = arm(cq);
		// Pairs with the barrier of irq_poll_sched(): either whoever waits since then finds
		// that no poll is scheduled, or he is seen here.
		smp_mb__after_atomic();
		if (con.awaits_sends()) [[unlikely]]
			missed |= arm(con.send_cq);
		if (missed)
			irq_poll_sched(iop);
	}
	return completed;
}

void on_awaited_send(ib_cq *, void *con)
{
	irq_poll_sched(&static_cast<rtrs_connection *>(con)->cq->iop);
}

} // namespace

Status poll_in_batches(rtrs_connection &con, rtrs_batch_handler *handler)
{
	con.completions = TRY(Array<ib_wc>::create(con.send_cq ? 2 * kBatch : kBatch));
	con.batch = handler;
	if (con.send_cq)
		con.send_cq->comp_handler = on_awaited_send;
	if (con.cq->poll_ctx == IB_POLL_SOFTIRQ)
		con.cq->iop.poll = poll_in_softirq;
	else
		con.cq->work.func = poll_in_work;
	return {};
}

void await_batch(rtrs_connection &con)
{
	if (con.cq->poll_ctx == IB_POLL_SOFTIRQ) {
		// Waits until the poll function has said that it is done, and keeps others off.
		irq_poll_disable(&con.cq->iop);
		irq_poll_enable(&con.cq->iop);
	} else {
		flush_work(&con.cq->work); // raw: ib_core's, with its queue
	}
}

} // namespace rtrs

CXXRT_FOR_C void rtrs_connection_arm_sends(rtrs_connection *con)
{
	if (rtrs::arm(con->send_cq))
		irq_poll_sched(&con->cq->iop);
}
