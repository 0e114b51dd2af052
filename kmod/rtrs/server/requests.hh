// SPDX-License-Identifier: GPL-2.0
// Connection requests between the connection manager's handler and the work item that serves them
// (protocol A.3).
//
// The connection manager has one thread for the events of all ids, and what its handler waits for
// all clients of the machine wait for. So the handler copies the request and goes. Queue pairs,
// room that others have to leave first, REP, REJ, and the end of an id, which waits for what was
// sent under it, are the business of a work item: one for each host that has requests, which serves
// them in their order, one in each run. No host waits for another one's, but strangers, of which a
// number are served at a time, in turns.
//
// An id is the request's from take() on. Its events meanwhile say only that its client or its
// device is gone. serve() gives it to a connection of a path (hand_over()), or gets back an error,
// and the work item destroys it.
#pragma once

#include <cxxrt/fifo.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/result.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>
#include <rtrs/pure/quota.hh>
#include <rtrs/server/addresses.hh>
#include <rtrs/wire/private_data.hh>

namespace rtrs::server {

class Requests {
public:
	// Serves a request, in a work item. An error leaves the id with the caller.
	using Serve = cxxrt::Status (*)(void *server, rdma_cm_id *id, const rdma_conn_param &param);

	Requests(Serve serve, void *server) : serve_(serve), server_(server) {}
	Requests(const Requests &) = delete;
	Requests &operator=(const Requests &) = delete;

	// In the event handler of the id. ENOMEM where it can not wait: with that from the handler
	// the connection manager forgets the request and answers nothing.
	cxxrt::Status take(rdma_cm_id *id, const rdma_conn_param &param, const Source &source,
			   bool stranger);
	// Behind the last take(): all that wait are refused, and it waits for those that are
	// served. May sleep.
	void stop();

	// The id, whose request is being served, belongs to another owner from here on, whom its
	// events go to. ECONNRESET if its client or its device is gone already: it stays the
	// request's. May sleep.
	static cxxrt::Status hand_over(rdma_cm_id *id, void *context,
				       rdma_cm_event_handler handler);

private:
	struct Host;
	struct Request {
		cxxrt::FifoNode<Request> node;
		rdma_cm_id *id = nullptr;
		bool gone = false; // under the handler lock of the id
		u32 qp_num = 0;
		u8 size = 0; // of what the client sent, of which the rest says nothing
		u8 data[kPrivateDataSize] = {};
	};

	// The requests of one host that wait. On the list while there are some, or one is served.
	struct Host : cxxrt::RefCounted<Host> {
		Host(Requests &owner, const Source &source, bool stranger)
		    : owner(owner), source(source), stranger(stranger)
		{
		}
		void run() { owner.serve_next(*this); }
		void queue();

		Requests &owner;
		const Source source;
		const bool stranger;
		cxxrt::ListNode node;
		cxxrt::Fifo<Request, &Request::node> waiting; // under the owner's lock
		u32 count = 0;				      // of those; likewise
		cxxrt::RefWork<Host, &Host::run> work{this};
	};

	using Hosts = cxxrt::List<Host, &Host::node>;
	struct State {
		Hosts hosts;
		WaitingRequests waiting; // but for those of one host
		u32 count = 0;		 // of hosts
		bool stopping = false;
	};

	static int event(rdma_cm_id *id, rdma_cm_event *event);
	static bool is_gone(Request &request);
	void serve_next(Host &host);
	void serve(Request &request);

	const Serve serve_;
	void *const server_;
	// Of the handlers of requests, under the handler lock of an id, and of the work items.
	cxxrt::Guarded<State, cxxrt::Mutex> state_{cxxrt::lock_class<"rtrs_requests">()};
	cxxrt::WaitQueue idle_{cxxrt::lock_class<"rtrs_requests_idle">()};
};

} // namespace rtrs::server
