// SPDX-License-Identifier: GPL-2.0
#include <rtrs/core/batch_queue.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

// Completions that one call of the device gives out; a batch.
constexpr int kBatch = 16;
// After so many the work queue has its turn, with other connections.
constexpr int kBudget = 1024;

// The work item of a queue never runs beside itself, so neither do handlers. As long as it is
// queued or running the queue need not be armed. A completion that comes after the last poll and
// before the queue is armed is reported as missed.
void poll(work_struct *work)
{
	ib_cq *cq = container_of(work, ib_cq, work);
	auto *con = static_cast<rtrs_connection *>(cq->cq_context);
	int completed = 0;
	int n;
	while ((n = ib_poll_cq(cq, kBatch, con->completions.begin())) > 0) {
		con->batch(con, con->completions.begin(), static_cast<u32>(n));
		completed += n;
		if (n < kBatch || completed >= kBudget)
			break;
	}
	if (completed >= kBudget ||
	    ib_req_notify_cq(cq, static_cast<ib_cq_notify_flags>(IB_CQ_NEXT_COMP |
								 IB_CQ_REPORT_MISSED_EVENTS)) > 0)
		queue_work(cq->comp_wq, &cq->work); // raw: both are ib_core's
	else if (cq->dim)
		rdma_dim(cq->dim, static_cast<u64>(completed));
}

} // namespace

Status poll_in_batches(rtrs_connection &con, rtrs_batch_handler *handler)
{
	con.completions = TRY(Array<ib_wc>::create(kBatch));
	con.batch = handler;
	con.cq->work.func = poll;
	return {};
}

} // namespace rtrs
