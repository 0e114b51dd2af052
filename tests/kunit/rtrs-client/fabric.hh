// SPDX-License-Identifier: GPL-2.0
// What is below the client, and beyond: an RDMA device, a connection manager, and a server that
// does what a case tells it to. One fabric at a time.
//
// A work request is executed when it is posted. Its completion, if it asked for one, and everything
// that the server sends comes later, by the work item of the wire; completions of sends in the
// order of the queue. Of a connection with quiet sends they come with what it receives, or when
// it has armed their queue, and else never. Until one says so, the device may send again what a
// request sends. As on a real device, handlers of one connection never run side by side, interrupts
// are off in them, and rtrs_connection_drain() returns when the last one has run. Events of the
// connection manager come by another work item.
#pragma once

#include <cxxrt/list.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>
#include <rtrs/core/core.h>
#include <rtrs/core/device.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/wire/immediate.hh>
#include <rtrs/wire/private_data.hh>

namespace fake {

using cxxrt::u16;
using cxxrt::u32;
using cxxrt::u64;
using cxxrt::u8;
using cxxrt::usize;

constexpr u32 kDepth = 16;
constexpr u32 kChunk = 8192;
constexpr u32 kPaths = 3; // to 10.0.0.1 and so on
constexpr u32 kMany = 64; // connections of a path

struct Region : ib_mr {
	bool open = false; // the server can reach the memory
};

struct Id : rdma_cm_id {
	u32 path = 0; // by the destination
	u16 cid = 0;
	u16 connections = 0; // that its path shall have
	bool gone = false;
	bool asking = false; // for its address
};

struct CmEvent {
	cxxrt::ListNode node;
	Id *id = nullptr;
	rdma_cm_event_type type{};
	int status = 0;
	rtrs::ConnectReply data{};
};

struct Completion {
	ib_wc wc{};
	Region *closes = nullptr; // a LOCAL_INV takes effect with its completion
	u64 place = 0;		  // of a send: the number of its completion
};

// The queues of one connection.
struct Port {
	struct Receive {
		ib_cqe *cqe;
		u64 address;
		u32 length;
	};
	template <class T> struct Ring {
		cxxrt::Array<T> items;
		u32 first = 0;
		u32 end = 0;
		bool empty() const { return first == end; }
		bool full() const { return end - first == items.size(); }
		void push(const T &item) { items[end++ % items.size()] = item; }
		T pop() { return items[first++ % items.size()]; }
	};

	ib_qp qp{};
	Id *id = nullptr;
	bool broken = false;
	rtrs_connection *con = nullptr;
	rtrs_batch_handler *batch = nullptr;
	Ring<Receive> receives;
	Ring<Completion> completions;
	ib_cq send_cq{}; // a name only
	bool quiet = false;
	Ring<Completion> sent; // of quiet sends
	bool armed = true;     // as a queue is when it is made
	bool due = false;      // they have interrupted
	Ring<Completion> held; // while Fabric::hold_sends or hold_invalidations
	u64 sends = 0;	       // that asked for a completion
	u64 sends_reported = 0;
	cxxrt::ListNode node;
	cxxrt::SpinLock handling{cxxrt::lock_class<"kunit handlers">()};
};

class Fabric {
public:
	// ENOMEM.
	static cxxrt::Result<cxxrt::Box<Fabric>> create();
	Fabric() = default;
	~Fabric();

	// ---- the server, as a case has it ----

	// How often a request for the slot has come by that path.
	u32 arrivals(u32 path, u32 slot) const { return READ_ONCE(arrived_[path][slot].count); }
	u32 arrivals(u32 slot) const
	{
		u32 sum = 0;
		for (u32 path = 0; path < kPaths; path++)
			sum += arrivals(path, slot);
		return sum;
	}
	// Work requests of a connection that asked for a completion.
	u64 sends_signaled(u32 path, u16 cid);
	// Writes of nothing, that the server does not see: those that ask for a sign of life...
	u32 probes() const { return READ_ONCE(probes_); }
	// ...and those that wake the queue.
	u32 wakes() const { return READ_ONCE(wakes_); }
	// Calls of the device that posted requests.
	u32 posts() const { return READ_ONCE(posts_); }
	// Until a request for the slot has come by that path, `count` times since the beginning.
	bool wait_arrival(u32 path, u32 slot, u32 count = 1);
	// Answers on the connection that the last request came on. False: no such request, or the
	// connection is gone.
	// `promise`: it says that the key was invalidated before.
	bool answer(u32 path, u32 slot, int error = 0, bool promise = false);
	// A SEND_WITH_INV, on the connection that the last request came on, of the region over that
	// memory, open or not. False as above, or there is no such region.
	bool invalidate(u32 path, u32 slot, const void *memory);
	// All requests of a path at once; how many.
	u32 answer_all(u32 path);
	// On another connection than that.
	bool answer_elsewhere(u32 path, u32 slot);
	bool say(u32 path, u16 cid, u32 immediate);
	// The path is gone, and comes back only if `back`.
	void kill(u32 path, bool back = false);
	// Work items have run that were queued before.
	void settle();

	bool refuse[kPaths] = {};
	// Attempts that were refused.
	u32 refused[kPaths] = {};
	// So many questions for its address find no answer in their time.
	u32 lost_questions[kPaths] = {};
	u32 questions[kPaths] = {};
	u32 longest_question = 0; // ms
	// Requests for a connection are not answered; how many came. The last one may be later.
	bool deaf[kPaths] = {};
	u32 unheard[kPaths] = {};
	bool answer_unheard(u32 path);
	// Questions are not answered at all, until answer_question(); or those behind so many.
	bool mute[kPaths] = {};
	u32 mute_behind[kPaths] = {~0u, ~0u, ~0u};
	void answer_question(u32 path);
	// Requests for other connections than the service's are answered so many at a time, or
	// when the last one is there; and the most that were open.
	u32 gather = 0;
	u32 most_open = 0;
	// This connection is refused.
	u16 refuse_cid = 0;
	// Ids that were destroyed while their question was open.
	u32 broken_off = 0;
	// Each path has a port of the device; what becomes of its cable.
	void pull(u32 path);
	void push(u32 path);
	// Whether it offers fences to paths that connect; by which of them it answers none.
	bool fences = false;
	bool silent[kPaths] = {};
	u32 instance = 1; // of the session; another one after a restart
	// The serial of the path's last attempt, and of the last fence that came over it.
	u32 serial[kPaths] = {};
	u32 asked(u32 path) const { return READ_ONCE(asked_[path]); }
	bool wait_asked(u32 path, u32 serial);
	// Over that path: the other one has been ended.
	bool say_fenced(u32 path, u32 serial);
	// The longest send queue that there is room for, and of all that were made.
	u32 send_room = ~0u;
	u32 longest_queue = 0;
	// Regions that were mapped with pages of a size that the device does not know.
	u32 unknown_pages = 0;
	// Completions of LOCAL_INV, or of all sends, wait for release_held().
	bool hold_invalidations = false;
	bool hold_sends = false;
	void release_held();
	// What is held goes on when its queue is woken: the device had forgotten it.
	bool forgets = false;
	// Regions that are open now; those over `memory` only, if it is not null.
	u32 open_regions(const void *memory = nullptr);
	// Requests whose data the device may still send from there by the local key.
	u32 sending(const void *memory);

	// ---- the device and the connection manager: verbs.cc, cm.cc ----

	cxxrt::Status add_port(rtrs_connection *con, Id *id, const rtrs_queue_config &config);
	void drain(Port &port);
	void remove_port(rtrs_connection *con);
	void arm_sends(Port &port);
	static int post_send(ib_qp *qp, const ib_send_wr *first, const ib_send_wr **bad);
	static int post_recv(ib_qp *qp, const ib_recv_wr *first, const ib_recv_wr **bad);
	Region *add_region(ib_pd *pd);
	void remove_region(Region *region);
	int tell(Id *id, rdma_cm_event_type type, int status = 0,
		 const rtrs::ConnectReply *data = nullptr);
	void forget(Id *id);
	void listen(ib_event_handler *handler) { handler_ = handler; }
	bool is_out(u32 port) const { return port && out_[port - 1]; }
	void leave_unanswered(Id *id);
	void leave_unheard(Id *id);
	int accept(Id *id);
	int gathered(Id *id);
	void count_request();

	rtrs_device device{};
	void *client_data = nullptr; // of the device
	static Fabric *now;	     // the one that exists

private:
	struct Arrived {
		u32 count = 0;
		Port *port = nullptr;
		u64 data = 0;  // what goes by the local key
		u64 place = 0; // of the completion that covers it
	};

	static constexpr u32 max_regions() { return 128; }
	Port *find_port(u32 path, u16 cid);
	rtrs::ConnectReply next_reply(u32 path);
	rtrs::ConnectReply reply_of(u32 path) const;
	void execute(Port &port, const ib_send_wr &wr);
	void complete_send(Port &port, const Completion &c);
	void wake(Port &port);
	void receive_info(Port &port);
	void receive_request(Port &port, const ib_send_wr &wr);
	void receive_fence(Port &port, u32 serial);
	bool send_to_client(Port &port, u32 immediate);
	Region *region_over(const void *memory);
	void tell_port(u32 path, ib_event_type type);
	void run_wire();
	void run_cm();
	void deliver(Port &port);

	// Of all queues, never held while a handler runs.
	cxxrt::SpinLock lock_{cxxrt::lock_class<"kunit fabric">()};
	cxxrt::List<Port, &Port::node> ports_;
	Region *regions_[128] = {};
	u32 next_key_ = 1;
	Arrived arrived_[kPaths][kDepth];
	u32 requests_ = 0;
	u32 posts_ = 0;
	u32 probes_ = 0;
	u32 wakes_ = 0;
	u32 asked_[kPaths] = {};
	Id *asking_[kPaths][kMany] = {};
	Id *unheard_[kPaths] = {}; // under lock_
	Id *gathered_[kPaths][kMany] = {};
	u32 gathered_count_[kPaths] = {};
	u32 open_requests_ = 0;
	ib_event_handler *handler_ = nullptr;
	bool out_[kPaths] = {};
	cxxrt::WaitQueue arrivals_changed_{cxxrt::lock_class<"kunit arrivals">()};
	cxxrt::List<CmEvent, &CmEvent::node> events_;

	cxxrt::Box<ib_device> ibdev_;
	cxxrt::Box<ib_pd> pd_;
	// Ordered: one handler at a time, as on one CPU; a case's own threads make it two.
	cxxrt::Workqueue wire_queue_;
	cxxrt::Workqueue cm_queue_;
	cxxrt::Work<Fabric, &Fabric::run_wire> wire_{this};
	cxxrt::Work<Fabric, &Fabric::run_cm> cm_{this};
};

} // namespace fake
