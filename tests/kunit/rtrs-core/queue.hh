// SPDX-License-Identifier: GPL-2.0
// A connection on completion queues of a device that gives out what a case says.
#pragma once

#include <cxxrt/memory.hh>
#include <cxxrt/work.hh>
#include <rtrs/core/batch_queue.hh>

namespace fake {

using cxxrt::u32;

constexpr u32 kMaxBatch = 16;
constexpr u32 kRoom = 512; // of the send queue

// With IB_POLL_SOFTIRQ its sends are quiet.
class Queue : public rtrs::Connection {
public:
	// ENOMEM.
	static cxxrt::Result<cxxrt::Box<Queue>> create(ib_poll_context context);
	Queue() : Connection(1, counters_) {}
	~Queue();

	// As when the device's interrupt has come for a receive; until nothing is left to run.
	void interrupt();
	// Until nothing is left to run of what was begun.
	void settle();
	// A signaled send. EAGAIN.
	cxxrt::Status post();
	// So many of them complete; interrupts if the queue of sends is armed.
	void complete_sends(u32 count);

	u32 waiting = 0; // completions that the device has
	u32 late = 0;	 // that come while the queue is armed
	u32 sends_waiting = 0;
	u32 late_sends = 0;	  // likewise
	u32 failed_sends = 0;	  // the first of them says why, the others are flushed
	u32 flushed_receives = 0; // in the queue with `waiting`
	bool await_in_handler = false;

	u32 handled = 0;
	u32 batches = 0;
	u32 largest = 0;
	u32 disordered = 0;
	u32 seen_by_other = 0;
	u32 armed = 0;
	u32 armed_in_vain = 0; // with completions that were there before
	u32 sends_handled = 0;
	u32 sends_armed = 0;
	u32 sends_behind_receives = 0; // in one batch, or of a queue pair that is broken
	u32 failed_handled = 0;
	ib_wc_status first_failure = IB_WC_SUCCESS;

private:
	static int poll_cq(ib_cq *cq, int room, ib_wc *completions);
	static int req_notify_cq(ib_cq *cq, ib_cq_notify_flags flags);
	static int take(ib_qp *qp, const ib_send_wr *first, const ib_send_wr **bad);
	static void handle(rtrs_connection *con, ib_wc *completions, u32 count);
	int poll_sends(int room, ib_wc *completions);
	int poll_receives(int room, ib_wc *completions);
	void handle_one(const ib_wc &wc, bool &receives);
	cxxrt::Result<cxxrt::Box<ib_cq>> make_cq(ib_poll_context context);
	// Somebody else's work, which has come after the first batch.
	void look() { seen_by_other = handled; }

	u32 given_ = 0;
	bool failed_ = false;
	bool broken_receives_ = false; // one was handled that was flushed
	bool sends_interrupt_ = false;
	ib_qp qp_{};
	cxxrt::PerCpu<rtrs::WrCounters> counters_;
	cxxrt::Workqueue wq_;
	cxxrt::Box<ib_device> ibdev_;
	cxxrt::Box<ib_cq> queue_;
	cxxrt::Box<ib_cq> sends_;
	cxxrt::Work<Queue, &Queue::look> other_{this};
};

} // namespace fake
