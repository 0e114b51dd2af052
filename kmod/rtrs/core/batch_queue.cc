// SPDX-License-Identifier: GPL-2.0
#include <rtrs/core/batch_queue.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

constexpr int kBatch = kCompletionBatch;
// After so many the work queue has its turn, with other connections.
constexpr int kBudget = 1024;

// Completions that were found, no more than `budget`.
int hand_on(ib_cq *cq, int budget)
{
	auto *con = static_cast<rtrs_connection *>(cq->cq_context);
	int completed = 0;
	int n;
	do {
		const int room = min_of(kBatch, budget - completed);
		n = ib_poll_cq(cq, room, con->completions.begin());
		if (n <= 0)
			break;
		con->batch(con, con->completions.begin(), static_cast<u32>(n));
		completed += n;
	} while (n == kBatch && completed < budget);
	return completed;
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
	const int completed = hand_on(cq, kBudget);
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
	const int completed = hand_on(cq, budget);
	adapt(cq, completed);
	if (completed < budget) {
		irq_poll_complete(iop);
		if (arm(cq))
			irq_poll_sched(iop);
	}
	return completed;
}

} // namespace

Status poll_in_batches(rtrs_connection &con, rtrs_batch_handler *handler)
{
	con.completions = TRY(Array<ib_wc>::create(kBatch));
	con.batch = handler;
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
