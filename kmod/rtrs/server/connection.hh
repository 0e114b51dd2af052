// SPDX-License-Identifier: GPL-2.0
// One connection of a path, as the server has it: receives, and answers that wait for room.
//
// The CM id belongs to the connection from the moment that Path::add_connection() gave it to it;
// the path's close work destroys it. Completions are handled in work-queue context, of I/O
// connections in batches (rtrs/core/batch_queue.hh): what the handlers of a batch, and the user
// whom they call, bring up to be posted is collected and goes when the batch ends (batch.cc). On
// devices that execute local work twice there is a throttle before the queue (throttle.hh).
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/fifo.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/plug.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/auth_proof.hh>
#include <rtrs/pure/geometry.hh>
#include <rtrs/server/answer_wrs.hh>
#include <rtrs/server/capsule_receives.hh>
#include <rtrs/server/throttle.hh>
#include <rtrs/server/slot.hh>

namespace rtrs::server {

class Path;

class ServerConnection : public Connection {
public:
	ServerConnection(Path &path, u16 cid, cxxrt::PerCpu<WrCounters> &counters);

	// What its queues take of the machine.
	u64 bytes() const;
	// Takes over the id of a connection request, which is the connection's from then on.
	// ECONNRESET if its client or its device is gone: then it is not. May sleep.
	Status adopt(rdma_cm_id *id);
	// Creates the queues on it. May sleep.
	Status open();
	// The number of the client's queue pair, before the connection is accepted.
	void set_peer_qp(u32 number) { peer_qp_ = number; }
	// Sends the REP. May sleep.
	Status accept();

	// cid 0: the receive for INFO_REQ. May sleep.
	Status post_info_recv();
	// All others, when the path becomes connected.
	Status post_recvs();

	// What the slot wants next: at once, when there is room, or at the end of the batch that
	// the caller is inside of. Any context. An answer ends when it is posted, or in
	// RequestSlot::dropped(), an invalidation in its completion or dropped(), here or later.
	void post_slot(RequestSlot &slot);
	// The same, inlined; in respond.cc only.
	void post_step(RequestSlot &slot, RequestSlot::Step step);
	// The same for the invalidation of a request that the caller, a handler of this connection,
	// has just found. He is the collector, if anybody is: his batch goes out when he ends it.
	void invalidate_arrived(RequestSlot &slot)
	{
		if (plug_) [[likely]]
			collect(slot, RequestSlot::Step::Invalidate);
		else
			post_slot(slot);
	}
	// The queues are drained: slots that still wait are dropped.
	void drop_pending();

	void disconnect();
	// The queues and what they receive into; while the path has its device, after drain().
	void release_queues();
	// The id, when the device may go.
	void destroy_id();

	// A signaled work request has completed with success. Completion handlers only.
	void on_send_completed();
	// The invalidation of a slot has completed, with success or not. It stands for those before
	// it in a chain.
	void on_invalidated(RequestSlot &slot, bool ok);

	ib_cqe *send_cqe() { return &send_.cqe; }
	u64 heard_mark = 0; // of the last look that saw it move; Path::wake_stalled()
	// An answer was posted, alone or in a chain of that cost.
	void trace_answer(const AnswerEvent &event, const AnswerParts &parts,
			  const ChainCost &cost) const;
	// Of this connection's queue pairs (protocol J.3).
	QueuePairNumbers numbers() const { return {peer_qp_, qp->qp_num}; }
	ib_cqe *setup_cqe() { return &setup_.cqe; }
	// Longest chain on cid 0.
	static constexpr u32 max_service_chain() { return 8; }

	// A completion's handler, and its connection.
	struct Handler {
		ib_cqe cqe;
		ServerConnection *con;
	};
	static void sent(ib_cq *cq, ib_wc *wc);

	// ---- for the throttle ----

	// A queue without room.
	static bool full(const Status &s) { return !s.ok() && s.error() == err::eagain; }
	// A send has completed, with success or not.
	void on_sent(const ib_wc &wc);
	// Handlers only: what they have collected, which is in the chain; and the chain, in which
	// slots are put before post_chain().
	bool has_collected(RequestSlot::Step step) const { return collected_[index(step)] != 0; }
	u32 take_collected(RequestSlot::Step step)
	{
		return cxxrt::exchange(collected_[index(step)], 0U);
	}
	RequestSlot *&chain_slot(RequestSlot::Step step, u32 place)
	{
		return chain_[place].slots[index(step)];
	}
	u32 chain_room() const { return static_cast<u32>(chain_.size()); }
	// `completes`: gets the completion of a chain of answers. EAGAIN: there is no room; other
	// errors have been seen to, and the slots were dropped, or let go.
	Status post_chain(RequestSlot::Step step, u32 count, Signal signal, ib_cqe *completes);

private:
	using PendingQueue = cxxrt::Fifo<RequestSlot, &RequestSlot::pending>;

	static ServerConnection &of(const ib_wc *wc)
	{
		return *container_of(wc->wr_cqe, Handler, cqe)->con;
	}
	static void info_received(ib_cq *cq, ib_wc *wc);
	static void received(ib_cq *cq, ib_wc *wc);
	static void capsule_received(ib_cq *cq, ib_wc *wc);
	static void setup_sent(ib_cq *cq, ib_wc *wc);
	static int cm_event(rdma_cm_id *id, rdma_cm_event *event);
	static void qp_event(ib_event *event, void *context);

	bool has_receive_memory() const;
	QueuePlan plan() const;
	Status create(const QueuePlan &plan);
	void count_one();
	// receive.cc. kCapsules: receives have memory. The others return whether a request has
	// come, which the path is entered for.
	template <bool kCapsules> void handle(ib_wc *wc, u32 count);
	template <bool kCapsules> bool is_receive(const ib_wc &wc) const;
	template <bool kCapsules> bool post_again(const ib_wc *wc, u32 count);
	bool post_again(CapsuleReceives::Entry &entry);
	bool on_capsule(CapsuleReceives::Entry &entry, const ib_wc &wc);
	bool on_immediate(const ib_wc &wc, bool entered);
	void on_service(ServerImm imm);
	void answer_heartbeat();
	void post_pending();
	void post_now(RequestSlot &slot);
	void answer_now(RequestSlot &slot);
	void post_slow_path(RequestSlot &slot, RequestSlot::Step step);
	Status post_or_wait(RequestSlot &slot, Signal signal);
	Status wait_for_room(RequestSlot &slot);
	void finish_step(RequestSlot &slot, RequestSlot::Step step, const Status &s);
	void answers_left(u32 count, const Status &s);
	void post_expecting();
	// batch.cc
	static rtrs_batch_handler on_batch;
	// Inside of a batch it belongs to that.
	template <class F> void in_batch(F &&f)
	{
		if (plug_) {
			f();
			return;
		}
		{
			cxxrt::Plug plug(going_to_sleep, this);
			plug_ = &plug;
			f();
		}
		plug_ = nullptr;
		end_batch();
	}
	// Before each handler of a batch: the last one may have slept.
	void collect_on()
	{
		plug_->watch();
		WRITE_ONCE(collector_, current);
	}
	void end_batch();
	void see_to_due();
	static void going_to_sleep(void *con);
	bool collects() const
	{
		const task_struct *collector = READ_ONCE(collector_);
		return collector && collector == current && in_task();
	}
	void collect(RequestSlot &slot, RequestSlot::Step step)
	{
		u32 &count = collected_[index(step)];
		if (count == chain_.size()) [[unlikely]]
			make_room(step);
		chain_[count++].slots[index(step)] = &slot;
	}
	void make_room(RequestSlot::Step step);
	void post_batched(RequestSlot::Step step);
	Status post_invalidations(u32 count);
	Status post_answers(u32 count, Signal signal, ib_cqe *completes);
	template <bool kRegisters>
	void chain_answers(Links &chain, ChainCost &cost, u32 count, bool traced);
	void drop_invalidating();

	// What each request needs comes first, on two lines.
	Path &path_;
	Handler recv_; // of all receives that have no memory
	// The thread whose slots are collected, or null. Others only compare it with themselves.
	task_struct *collector_ = nullptr;
	// Of handlers, which run one after the other, and so of the collector: no lock.
	cxxrt::Plug *plug_ = nullptr; // of the present batch
	u32 collected_[2] = {};	      // by step: how many slots of the next chain there are
	// What the end of a batch does besides posting them.
	enum Due : u8 {
		kSent = 1,	 // a send has completed with success in it
		kAtThrottle = 2, // there is a throttle, which they have to pass; fixed as below
	};
	u8 due_ = 0;
	// What a send completion has to wake. Both share a byte, for one test.
	enum Expecting : u8 {
		kPending = 1, // pending_ has a slot, or will at once; written under its lock
		kThrottle =
		    2, // there is a throttle, which may wait; fixed when the connection opens
	};
	u8 expecting_ = 0;
	u32 peer_qp_ = 0; // the number of the client's queue pair
	u32 recvs_ = 0;	  // that are always posted
	Handler send_;	  // of answers
	cxxrt::Guarded<PendingQueue, cxxrt::SpinLock> pending_{cxxrt::lock_class<"rtrs_pending">()};
	cxxrt::Array<ChainEntry> chain_;
	PendingQueue invalidating_;	      // in chains that are posted, in their order
	cxxrt::Box<ServerThrottle> throttle_; // null where the path needs none

	// A chain of receives without memory; its end is posted, of as many as have come.
	ib_recv_wr again_[kCompletionBatch] = {};
	CapsuleReceives capsules_; // else these
	Handler info_recv_;
	Handler setup_; // of registrations and INFO_RSP
};

} // namespace rtrs::server
