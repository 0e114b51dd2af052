// SPDX-License-Identifier: GPL-2.0
// One connection of a path, as the server has it: receives, and answers that wait for room.
//
// The CM id belongs to the connection from the moment that Path::add_connection() made it;
// the path's close work destroys it. Completions are handled in work-queue context
// (IB_POLL_WORKQUEUE).
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/registration_gate.hh>
#include <rtrs/server/answer_wrs.hh>
#include <rtrs/server/capsule_receives.hh>
#include <rtrs/server/slot.hh>

namespace rtrs::server {

class Path;

class ServerConnection : public Connection {
public:
	ServerConnection(Path &path, u16 cid, cxxrt::PerCpu<WrCounters> &counters);

	// Creates the queues on `id`, which is the connection's from now on even if this fails.
	// May sleep.
	Status open(rdma_cm_id *id);
	// For the connection requests that are accepted: sends the REP. In the id's event handler.
	Status accept();
	bool accepted() const { return accepted_; }

	// cid 0: the receive for INFO_REQ. May sleep.
	Status post_info_recv();
	// All others, when the path becomes connected.
	Status post_recvs();

	// What the slot wants next, at once or when there is room. Any context. An answer ends in
	// RequestSlot::answered() or dropped(), an invalidation in its completion or dropped(),
	// here or later.
	void post_slot(RequestSlot &slot);
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
	// it in a batch.
	void on_invalidated(RequestSlot &slot, bool ok);

	ib_cqe *send_cqe() { return &send_.cqe; }
	ib_cqe *setup_cqe() { return &setup_.cqe; }
	// Longest chain on cid 0.
	static constexpr u32 max_service_chain() { return 8; }

	// Who completes a work request, and for whom.
	struct Handler {
		ib_cqe cqe;
		ServerConnection *con;
	};
	static void sent(ib_cq *cq, ib_wc *wc);

private:
	using PendingList = cxxrt::List<RequestSlot, &RequestSlot::pending>;

	static ServerConnection &of(const ib_wc *wc)
	{
		return *container_of(wc->wr_cqe, Handler, cqe)->con;
	}
	static void info_received(ib_cq *cq, ib_wc *wc);
	static void received(ib_cq *cq, ib_wc *wc);
	static void capsule_received(ib_cq *cq, ib_wc *wc);
	static void setup_sent(ib_cq *cq, ib_wc *wc);
	static void answers_sent(ib_cq *cq, ib_wc *wc);
	static int cm_event(rdma_cm_id *id, rdma_cm_event *event);
	static void qp_event(ib_event *event, void *context);

	void count_received();
	// `capsule`: the receive, if it has memory.
	void on_receive(const ib_wc &wc, CapsuleReceives::Entry *capsule);
	Status post_again(CapsuleReceives::Entry *capsule);
	void on_capsule(ByteView content, Rkey closed);
	void on_immediate(const ib_wc &wc);
	void answer_heartbeat();
	void post_pending();
	// held.cc
	GatePass pass_gate(RequestSlot &slot);
	void post_held();
	u32 take_held(RequestSlot::Step step);
	void hold_again(u32 count);
	Status post_invalidations(u32 count);
	Status post_answers(u32 count);
	void drop_held();
	void settle(RequestSlot &slot, RequestSlot::Step step, const Status &s);

	Path &path_;
	u32 recvs_ = 0;		// that are always posted
	bool accepted_ = false; // under the session's lock
	Handler info_recv_;
	Handler recv_;		   // all that have no memory
	CapsuleReceives capsules_; // else these
	Handler send_;		   // of answers
	Handler setup_;		   // of registrations and INFO_RSP
	Handler answers_;	   // of answers in a batch
	cxxrt::Guarded<PendingList, cxxrt::SpinLock> pending_{cxxrt::lock_class<"rtrs_pending">()};
	struct Gate {
		RegistrationGate state;
		PendingList arrivals; // that have to be invalidated
		PendingList answers;
	};
	cxxrt::Guarded<Gate, cxxrt::SpinLock> gate_{cxxrt::lock_class<"rtrs_server_gate">()};
	// Of handlers, which run one after the other.
	cxxrt::Array<HeldWrs> batch_; // of post_held(); empty: no slot has to ask the gate
	PendingList invalidating_;    // in batches that are posted, in their order
	u32 unacknowledged_ = 0;      // batches of answers
};

} // namespace rtrs::server
