// SPDX-License-Identifier: GPL-2.0
// One connection of a path as the client uses it: a CM id, its queues and its receives.
//
// The path's work item alone calls the steps of its life, in this order: establish() or its parts,
// provide_receives(), start_receives(), disconnect(), drain(), release_queues(), destroy(). The
// connection manager's handler only notes how far it is, or fails the path; it never destroys or
// creates anything, so no event can race with an end (protocol G.1-8, -10, -80).
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <rtrs/client/completion.hh>
#include <rtrs/client/throttle.hh>
#include <rtrs/client/request.hh>
#include <rtrs/client/request_wrs.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/auth_proof.hh>
#include <rtrs/core/memory.hh>
#include <rtrs/pure/liveness_probe.hh>
#include <rtrs/pure/reconnect_backoff.hh>
#include <rtrs/wire/capsule.hh>
#include <rtrs/wire/private_data.hh>
#include <rtrs/wire/rkey.hh>

namespace rtrs::client {

class ClientConnection;
class Path;

// A receive that is posted again whenever it completes. With memory for an RKEY_RSP or a capsule if
// the server announced one of them; else one object stands for all receives of a connection, which
// have none.
class Receive {
public:
	Receive() = default;
	// `memory`: in the connection's buffer, at `offset`; length 0: none.
	void bind(ClientConnection *connection, u32 offset, const ib_sge &memory)
	{
		connection_ = connection;
		offset_ = offset;
		memory_ = memory;
		wr_.wr_cqe = entry_.get();
		wr_.sg_list = &memory_;
		wr_.num_sge = memory.length ? 1 : 0;
	}
	const ib_recv_wr &work_request() const { return wr_; }
	u32 offset() const { return offset_; }
	void on_done(const ib_wc &wc);
	// The receive that a completion is of, null if it is of something else.
	static Receive *of(const ib_wc &wc)
	{
		return Entry::is(wc.wr_cqe) ? &Entry::owner(wc.wr_cqe) : nullptr;
	}

private:
	using Entry = CompletionEntry<Receive, &Receive::on_done>;

	Entry entry_{this};
	ClientConnection *connection_ = nullptr;
	u32 offset_ = 0; // in the connection's buffer
	// The same each time.
	ib_sge memory_{};
	ib_recv_wr wr_{};
};

class ClientConnection : public Connection {
public:
	ClientConnection(Path &path, u16 cid);
	~ClientConnection() { destroy(); }

	Path &path() { return path_; }
	bool is_service() const { return cid() == 0; }
	bool is_polled() const;

	// ---- the owner's steps; each may sleep ----

	// Resolves, creates the queues and connects; each step ends by its event, after its
	// timeout, or when the path is told to stop. On cid 0 the device is picked. EAGAIN: the
	// server's connection manager still had a connection of an earlier life of this machine,
	// and ends it now.
	Status establish();
	// establish() in parts, for several connections side by side: each part but the first one
	// awaits what the part before it has asked others for. await_acceptance() gives its errors.
	Status ask_for_address();
	Status await_address();
	// Queues; asks for the route.
	Status prepare();
	// REQ (protocol A.3).
	Status request();
	Status await_acceptance();
	// Memory for `count` receives. ENOMEM.
	Status provide_receives(u32 count, bool with_memory);
	// Posts them all.
	Status start_receives();
	void disconnect();
	// Afterwards no handler runs.
	void drain();
	// Queues and receives. The queues are drained.
	void release_queues();
	// Also the id: afterwards nothing runs here. The device may vanish when it has no id left.
	void destroy();

	// What the server accepted cid 0 with; valid after establish().
	const ConnectReplyFields &reply() const { return reply_; }
	// Protocol J.3: the message itself, and the numbers of this connection's queue pairs.
	const ConnectReply &raw_reply() const { return raw_reply_; }
	QueuePairNumbers numbers() const { return {qp->qp_num, peer_qp_}; }
	rdma_cm_id *id() const { return id_; }
	u32 send_sges() const { return send_sges_; }

	// ---- any context ----

	// A send completed: its room is free again, or the path is broken.
	void on_send_done(const ib_wc &wc);
	ib_cqe *send_cqe() { return send_entry_.get(); }
	void on_receive(Receive &receive, const ib_wc &wc);
	// A work request failed: the path has to start again.
	void on_broken(const ib_wc &wc);

	// Posts the invalidation of a request's region; if the queue is full, when it has room.
	void invalidate(Request &request);

	// The request is answered, and ends when a send completion covers it. In a handler of this
	// connection.
	void await_sent(Request &request)
	{
		unsent_.push_back(request);
		await_sends_in_handler();
	}

	// ---- requests that are collected: send_batch.cc; under RcuReader ----

	// Whether a request of nobody's batch is just posted: nobody's requests wait for commit(),
	// and if it registers memory there is no throttle.
	bool posts_at_once(bool registers) const
	{
		return !has(kCollects | u32{registers} * kHasThrottle);
	}
	// Else, whether collect() takes it: not on the service connection, nor where there is a
	// throttle; there Path::take_slow_path() sees to it.
	bool collects_freely() const { return has(kCollectsFreely); }
	// Keeps the request for commit(); it may even have ended on return.
	void collect(Request &request);
	// Whether somebody's requests wait for commit(). Who has collected some sees them; those of
	// others come and go.
	bool collects() const { return has(kCollects); }
	void commit();
	// Afterwards requests that were being posted on another CPU are Posted.
	void await_poster();

	// ---- the throttle: throttle.cc; under RcuReader, and the last one in a handler ----

	bool has_throttle() const { return static_cast<bool>(throttle_); }
	// Hold: the request waits, and may even have ended.
	ThrottlePass pass_request(Request &request);
	// As collect(), of a request that registers memory.
	void collect_at_throttle(Request &request);
	// A request that was Passed is answered.
	void answer_passed(const Request &request);

	// ---- for the throttle; under the lock of the send batch ----

	// Whether it waits for a completion.
	void mark_throttle_waits(bool waits) { mark(kThrottleWaits, waits); }
	// Where the requests of a chain are put before post_chain(); as many as a chain takes.
	ChainEntry *chain() { return chain_.begin(); }
	u32 chain_room() const { return static_cast<u32>(chain_.size()); }
	// `last`: what the last of them is then, Posted or Passed. EAGAIN: nothing was posted, and
	// there is a completion outstanding, whose handler has to wait for the lock.
	Status post_chain(u32 count, Signal signal, RequestState last = RequestState::Posted);

	// In the handler of an answer, to a request that began at `began`, in ns: whether the
	// message right before the answer was a SEND_WITH_INV of `key`, or the answer is one
	// itself, and it came since then.
	bool was_invalidated(Rkey key, u64 began) const
	{
		return has_invalidated_ && invalidated_ == key && began < invalidated_ns_;
	}

	// ---- the deadline's work item ----

	// A request on it has waited for `ns`.
	void note_wait(u64 ns) { longest_wait_ = cxxrt::max_of(longest_wait_, ns); }
	// Asks for a sign of life if a request was noted that waits. `now` and `timeout`, after
	// which the log tells of it, in ns. ETIMEDOUT: there is none; else what the device says to
	// a post. The deadline's work item.
	Status look_for_life(u64 now, const LifeLimits &limits, u64 timeout);
	// After ETIMEDOUT: the server was heard while nothing of this connection was acknowledged.
	bool starves() const;

	// Completions found. A second poller at the same time finds none: handlers of one
	// connection must not run side by side.
	int poll(io_comp_batch *ended);
	// In a handler: what requests that end there can be added to, or null.
	io_comp_batch *ending() const { return ending_; }
	// In a handler: ktime_get_ns(), of when its batch was found.
	u64 now() const { return batch_began_ ? batch_began_ : ktime_get_ns(); }

private:
	// How far the connection manager is, as its events tell.
	enum class Step : u8 {
		None,
		Asking, // for the address: the id must not be destroyed, see drop_id()
		AddressResolved,
		RouteResolved,
		Established,
		Unresolved, // address or route; unresolved_ says why
		Stale,
	};

	static int on_cm_event(rdma_cm_id *id, rdma_cm_event *event);
	void note(Step step);
	Step step() const { return smp_load_acquire(&step_); }
	void on_established(const rdma_conn_param &param);
	void on_rejected(rdma_cm_id *id, rdma_cm_event &event);
	static void on_qp_event(ib_event *event, void *context);

	Status await(Step step, unsigned long timeout);
	Status ask_for_route(u32 ms);
	Status await_route();
	void drop_id();
	rtrs_queue_config queue_config() const;
	Status create_queues_for_role();
	Status create_throttle();
	Status request_connection();

	static void on_batch(rtrs_connection *con, ib_wc *completions, u32 count);
	void dispatch(ib_wc &wc);
	void received(Receive &receive, const ib_wc &wc);
	void sent(const ib_wc &wc);
	void count_completion();
	Status post(const Receive &receive);
	void post_again(const Receive &receive);
	void on_invalidation(Receive &receive, const ib_wc &wc);
	void on_malformed(Error e);
	// Copies what lies in the receive, as many bytes as came.
	ByteView read(const Receive &receive, const ib_wc &wc, u8 *copy) const;
	Result<Rkey> read_key(const Receive &receive, const ib_wc &wc) const;
	Result<AnswerCapsuleFields> read_capsule(const Receive &receive, const ib_wc &wc) const;
	Status post_invalidation(Request &request);
	using Requests = cxxrt::List<Request, &Request::waiting>;
	void end_sent();

	// send_batch.cc
	struct SendBatch {
		Requests parked;      // answered, till there is room for their invalidations
		Requests collected;   // till their batch ends, or there is room
		bool starved = false; // there was none
	};
	// State that a request, or a completion, has to know on its way. In one byte, so that each
	// place tests all that matters to it at once.
	enum Mark : u8 {
		kCollects = 1,	      // collected requests wait for commit()
		kParks = 2,	      // some are in SendBatch::parked
		kThrottleWaits = 4,   // the throttle is not open
		kHasThrottle = 8,     // fixed when there are queues
		kCollectsFreely = 16, // likewise
	};
	bool has(u32 marks) const { return READ_ONCE(marks_) & marks; }
	void mark(Mark m, bool on)
	{
		WRITE_ONCE(marks_, static_cast<u8>(on ? marks_ | m : marks_ & ~m));
	}
	// Whether requests may wait for a send completion, so that post_waiting() has to run. A
	// completion handler reads the marks without the lock, and misses no waiter. A submitter
	// that collects sets its mark before it asks the SQ accounting for room, and the handler
	// gives the room back before it reads the mark, so one of the two sees the other. A parked
	// request was parked by a handler of this connection, and handlers do not overlap. A
	// throttled request waits for the completion of a work request that was posted after the
	// mark was set; or it found no room, and then it is like a submitter that collects.
	bool awaits_completion() const { return has(kCollects | kParks | kThrottleWaits); }
	void post_waiting();
	Status post_batched(SendBatch &batch);
	Result<bool> post_collected_chain(Requests &collected);
	void fail_unless_posted(Status posted);
	void drop_waiting();

	Path &path_;
	rdma_cm_id *id_ = nullptr;
	Step step_ = Step::None;
	unsigned long asked_ = 0; // jiffies of the last question for the address
	u32 asked_for_ms_ = 0;	  // how long it is open
	AddressTimeout address_timeout_;
	int unresolved_ = 0; // what the connection manager said
	u32 send_sges_ = 1;
	ConnectReplyFields reply_{};
	ConnectReply raw_reply_ = {};
	u32 peer_qp_ = 0;

	cxxrt::Array<Receive> receives_;
	DmaBuffer messages_;	// one RkeyResponse or AnswerCapsule for each receive
	u32 receive_count_ = 0; // posted at the same time

	CompletionEntry<ClientConnection, &ClientConnection::on_send_done> send_entry_{this};
	// Of the handlers, which run one after the other.
	io_comp_batch *ending_ = nullptr;
	u64 batch_began_ = 0;	       // 0: none is being handled
	Requests unsent_;	       // answered, till a completion covers them
	bool has_invalidated_ = false; // by the message right before
	Rkey invalidated_{};
	u64 invalidated_ns_ = 0;

	unsigned long polling_ = 0; // bit 0

	// Of the deadline's work item.
	LivenessProbe liveness_;
	u64 longest_wait_ = 0;	    // noted since the last look
	bool told_of_wait_ = false; // in the log

	cxxrt::Guarded<SendBatch, cxxrt::SpinLock> send_batch_{
	    cxxrt::lock_class<"rtrs_send_batch">()};
	u8 marks_; // written under the lock of the send batch
	// Of the chain that is being posted; likewise.
	cxxrt::Array<ChainEntry> chain_;
	cxxrt::Array<ib_sge> sges_;
	cxxrt::Box<ClientThrottle>
	    throttle_; // set with the queues; null where the device needs none
};

} // namespace rtrs::client
