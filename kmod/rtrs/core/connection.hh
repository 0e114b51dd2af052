// SPDX-License-Identifier: GPL-2.0
// One RC queue pair with its completion queue and the accounting of its send queue.
//
// Life: constructed idle → create_queues() → posts and completions → drain() → destroy_queues().
// drain() moves the queue pair to the error state and returns when the handler of every work
// request posted before has run, and what follows the batch they were in; the caller makes sure
// that nobody posts afterwards (a post on a drained queue pair would complete after its owner is
// gone). The CM id outlives the queues.
//
// Send side: post_send() holds the connection's lock while it reserves room and posts, so that
// the order of the SQ accounting is the order of the queue. Every work request needs a wr_cqe:
// flushed unsignaled ones complete too. A handler of a signaled work request that succeeded calls
// send_completed(); any handler that sees an error calls the owner's failure path and nothing
// else: the SQ accounting means nothing on a broken queue pair.
//
// Quiet sends (rtrs_queue_config::batch): an answer says more than the completion of what it
// answers, and comes later, so that completion is no reason to interrupt anybody. Sends then have a
// completion queue of their own, which is looked at whenever receives have completed, and
// interrupts only while somebody waits: from await_sends() until all that had been posted is
// covered. Waiting are: who finds no room; what has been answered, but is not covered yet; who
// holds requests till a completion; who asks for a sign of life; and drain().
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/percpu.hh>
#include <cxxrt/result.hh>
#include <rtrs/core/core.h>
#include <rtrs/core/wr_counters.hh>
#include <rtrs/pure/sq_accounting.hh>
#include <rtrs/pure/sq_watchdog.hh>

struct rtrs_connection;

// So many completions are found by one poll, at most: a batch.
constexpr u32 kCompletionBatch = 16;
// Gets the completions of one poll, calls complete() for each in their order, and then does what is
// to be done once for all of them. Softirq or work-queue context; never beside itself.
using rtrs_batch_handler = void(rtrs_connection *con, ib_wc *completions, u32 count);

struct rtrs_queue_config {
	u32 send_wrs; // both clamped by the caller to the device's max_qp_wr, less one for draining
	u32 recv_wrs;
	u32 send_sges;
	u32 max_chain;	     // longest chain that is ever posted
	u32 signal_interval; // a chain is signaled once for so many requests, or answers
	int cq_vector;
	ib_poll_context poll;
	// Not with IB_POLL_DIRECT; with IB_POLL_SOFTIRQ sends are quiet. Null: ib_core calls the
	// handlers.
	rtrs_batch_handler *batch;
	void (*qp_event)(ib_event *event, void *context);
};

// How long a queue stands still before it is woken, at most twice that.
constexpr unsigned long kStallInterval = HZ;

// Plain data behind the exported functions; code uses rtrs::Connection.
struct rtrs_connection {
	rdma_cm_id *cm_id = nullptr;
	ib_qp *qp = nullptr;
	ib_cq *cq = nullptr;
	ib_cq *send_cq = nullptr; // of quiet sends; null: theirs come to `cq`, too
	u32 cqes = 0;
	bool private_cq = false; // not from the device's pool: polled directly, or in batches
	rtrs_batch_handler *batch = nullptr;
	cxxrt::Array<ib_wc> completions; // of the batch
};

namespace rtrs {

// What ib_core does with a completion.
inline void complete(ib_cq *cq, ib_wc &wc)
{
	if (wc.wr_cqe) [[likely]]
		wc.wr_cqe->done(cq, &wc);
	else
		WARN_ON(wc.status == IB_WC_SUCCESS);
}

enum class Signal : u8 {
	WhenDue, // the SQ accounting decides
	Always,	 // the caller needs the completion
};

// What a chain consists of, for the counters.
struct ChainCost {
	u32 work_requests;
	u32 registrations = 0;
	u32 invalidations = 0;
	u32 guards = 0;	  // of registrations, beside `work_requests`; see Registration
	u32 requests = 1; // or answers that it does the work of

	u32 total() const { return work_requests + guards; }
};

// A place in the queue which no completion reaches.
constexpr u64 kAllSends = ~u64{0};

class Connection : public rtrs_connection {
public:
	Connection(u16 cid, cxxrt::PerCpu<WrCounters> &counters) : cid_(cid), counters_(counters) {}
	Connection(const Connection &) = delete;
	Connection &operator=(const Connection &) = delete;
	~Connection() { WARN_ON(qp); }

	u16 cid() const { return cid_; }

	// Creates CQ and QP on `id`, which becomes the connection's CM id. May sleep. ENOMEM, or
	// what the device says.
	Status create_queues(rtrs_device *device, rdma_cm_id *id, const rtrs_queue_config &config)
	{
		TRY(Status::from_code(rtrs_connection_create_queues(this, device, id, &config)));
		sq_ = SqAccounting(config.send_wrs, config.signal_interval, config.max_chain);
		awaited_ = 0;
		return {};
	}
	// May sleep. No-op without queues. An RCU grace period lies between it and the end of the
	// connection: batch_queue.hh.
	void drain()
	{
		{
			cxxrt::LockGuard<cxxrt::SpinLock> held(send_lock_);
			WRITE_ONCE(awaited_, kAllSends);
		}
		arm_sends();
		rtrs_connection_drain(this);
	}
	// May sleep. The queues are drained, or were never used.
	void destroy_queues() { rtrs_connection_destroy_queues(this); }

	// Posts a chain of cost.total() work requests, first to last. The last one gets
	// IB_SEND_SIGNALED when the SQ accounting or the caller wants it. Any context. EAGAIN: no
	// room now, a completion is outstanding that will make some; else what the device says, and
	// a part of the chain may have been posted. `place`, if it is not null: where the chain is
	// in the queue, for covers(); left alone after an error. reserved() is called between the
	// reservation of room and the post, under the lock of the send queue.
	// In line, for the way of requests.
	template <class Reserved>
	[[gnu::always_inline]] Status post_send(ib_send_wr *first, ib_send_wr *last,
						const ChainCost &cost, Signal signal, u64 *place,
						Reserved &&reserved)
	{
		const ib_send_wr *bad;
		bool signaled;
		{
			cxxrt::LockGuard<cxxrt::SpinLock> held(send_lock_);
			const SendPermit permit =
			    sq_.reserve(cost.total(), signal == Signal::Always, cost.requests);
			if (permit == SendPermit::Full) [[unlikely]]
				return no_room();
			signaled = permit == SendPermit::Signaled;
			if (signaled)
				last->send_flags |= IB_SEND_SIGNALED;
			reserved();
			if (const int code = ib_post_send(qp, first, &bad)) [[unlikely]] {
				// A chain that went out in part can't be taken back, but then the
				// queue pair is broken, and its owner closes it.
				if (bad == first)
					sq_.cancel(cost.total(), permit, cost.requests);
				return Error::from_code(code);
			}
			if (place)
				*place = sq_.place();
		}
		counters_.inc(&WrCounters::doorbells);
		counters_.add(&WrCounters::work_requests, u64{cost.work_requests});
		if (cost.registrations)
			counters_.add(&WrCounters::registrations, u64{cost.registrations});
		if (cost.invalidations)
			counters_.add(&WrCounters::invalidations, u64{cost.invalidations});
		if (cost.guards)
			counters_.add(&WrCounters::guards, u64{cost.guards});
		if (signaled)
			counters_.inc(&WrCounters::signaled);
		return {};
	}

	// The same, called.
	noinline Status post_send(ib_send_wr *first, ib_send_wr *last, const ChainCost &cost,
				  Signal signal = Signal::WhenDue, u64 *place = nullptr)
	{
		return post_send(first, last, cost, signal, place, [] {});
	}

	// A signaled work request completed with success: its room is free again.
	void send_completed()
	{
		counters_.inc(&WrCounters::send_completions);
		cxxrt::LockGuard<cxxrt::SpinLock> held(send_lock_);
		sq_.retire();
	}

	// A request waits for the completions of all that has been posted. Any context in which one
	// may post; what is awaited has been posted, or has found no room.
	noinline void await_sends()
	{
		await_sends_in_handler();
		arm_sends();
	}
	// The same in a handler of this connection: at the end of its batch it is looked at.
	void await_sends_in_handler()
	{
		cxxrt::LockGuard<cxxrt::SpinLock> held(send_lock_);
		await_signaled();
	}
	// Of who calls the handlers: whether sends are to interrupt, and whether completions of
	// some may be there that have been asked for.
	bool awaits_sends() const { return !covers(READ_ONCE(awaited_)); }
	bool may_find_sends() const { return !covers(sq_.signaled()) || awaits_sends(); }

	// Whether the device has let go of what was posted there: the peer has acknowledged it.
	// Called by handlers of this connection, which alone change the answer.
	bool covers(u64 place) const { return sq_.covers(place); }
	// Signaled work requests that have completed. Any context.
	u64 sends_completed()
	{
		cxxrt::LockGuard<cxxrt::SpinLock> held(send_lock_);
		return sq_.completed();
	}

	// To be called once in kStallInterval, by one caller at a time, who may post: wakes a queue
	// that stands still (rtrs/pure/sq_watchdog.hh) by a write of no bytes to nowhere, that the
	// peer's device acknowledges and its program does not see. `sent` completes it, as any
	// other. A queue without room is left alone. Else what the device says.
	noinline Status wake_if_stalled(ib_cqe *sent)
	{
		const bool may_wake = READ_ONCE(rtrs_wake_stalled);
		u64 place, completed, asked;
		{
			cxxrt::LockGuard<cxxrt::SpinLock> held(send_lock_);
			completed = sq_.completed();
			asked = sq_.signaled();
			// A work request that asked for no completion ends by the next one that
			// did, and none is posted here: it counts as ended.
			place = may_wake ? sq_.place() : asked;
		}
		const bool wake = watchdog_.look(place, completed, asked);
		if (may_wake && watchdog_.helped())
			counters_.inc(&WrCounters::helped);
		if (!may_wake || !wake)
			return {};
		ib_rdma_wr nothing{};
		nothing.wr.opcode = IB_WR_RDMA_WRITE;
		nothing.wr.wr_cqe = sent;
		const Status s = post_send(&nothing.wr, &nothing.wr,
					   {.work_requests = 1, .requests = 0}, Signal::Always);
		if (s.ok()) {
			counters_.inc(&WrCounters::wakes);
			await_sends();
		}
		return !s.ok() && s.error() == err::eagain ? Status() : s;
	}

	// For how many calls of wake_if_stalled() it has stood still. Of its caller.
	u64 stands_still() const { return watchdog_.stands_still(); }

	// A receive without memory, for immediates. Any context.
	Status post_empty_recv(ib_cqe *cqe)
	{
		ib_recv_wr wr{};
		wr.wr_cqe = cqe;
		return Status::from_code(ib_post_recv(qp, &wr, nullptr));
	}

	cxxrt::PerCpu<WrCounters> &counters() { return counters_; }
	// One request in so many is signaled. Fixed when the queues are created.
	u32 signaled_one_in() const { return sq_.interval(); }

private:
	// Under send_lock_. There is a completion outstanding.
	noinline Error no_room()
	{
		await_signaled();
		arm_sends();
		return err::eagain;
	}
	// Under send_lock_.
	void await_signaled()
	{
		if (awaited_ != kAllSends)
			WRITE_ONCE(awaited_, sq_.signaled());
	}
	void arm_sends()
	{
		if (send_cq)
			rtrs_connection_arm_sends(this);
	}

	const u16 cid_;
	cxxrt::PerCpu<WrCounters> &counters_;
	cxxrt::SpinLock send_lock_{cxxrt::lock_class<"rtrs_send">()};
	SqAccounting sq_{0, 1, 1}; // under send_lock_
	u64 awaited_ = 0;	   // written under it; the place that somebody waits for
	SqWatchdog watchdog_;	   // of who calls wake_if_stalled()
};

} // namespace rtrs
