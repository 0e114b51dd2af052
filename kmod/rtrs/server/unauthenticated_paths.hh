// SPDX-License-Identifier: GPL-2.0
// Paths that have to prove first who opens them (protocol J.3, rule 1): apart from all sessions,
// with their connections and one receive each, and nothing else.
//
// The list holds a reference to each, from its first connection request until it joins a session,
// which then holds it, or until it has ended.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <rtrs/server/path.hh>

namespace rtrs::server {

class UnauthenticatedPaths {
public:
	// A connection request of an attempt whose cid 0 was, or now is, challenged. ENOENT: of
	// another connection than cid 0, and its attempt is not here; ENXIO as
	// Server::find_or_create(). An error leaves the id with the caller; see Path::connect().
	// May sleep.
	Status connect(Server &server, rdma_cm_id *id, const rdma_conn_param &request,
		       const ConnectRequestFields &fields);

	// Whether the path, which has proven who it is, begins the session that its REP speaks of.
	// EAGAIN: another one is about to; kSessionEnded: it has ended, or was never begun.
	Status begin_session(Path &path);
	// The path has joined a session, which has its reference from here on. False if it is
	// closing, and goes no further.
	bool promote(Path &path);
	// Attempts that have not proven anything yet, of who has heard an answer, seen from there.
	// May sleep.
	Asking asking(const Source &from);
	// Nothing of the path is left; drops the list's reference.
	void remove(Path &path);
	void close_all();
	// Waits until no connection request puts a path on the list.
	void await_connection_requests()
	{
		list_.with([](State &) {});
	}
	// Any context.
	bool empty() { return !READ_ONCE(list_.exclusive().count); }

private:
	using List = cxxrt::List<Path, &Path::session_node>;
	struct State {
		List list;
		u32 count = 0;
		u32 last_serial = 0; // of all paths that are challenged; begins anywhere
	};

	static Path *find(State &s, const ConnectRequestFields &fields, const rdma_cm_id &id);
	// One that goes on, of the same id of a session, and can still begin that.
	static Path *find_sibling(State &s, const Uuid &session);
	static bool same_session(const Path &a, const Path &b);
	Result<Path *> begin(State &s, Server &server, const rdma_cm_id &id,
			     const rdma_conn_param &request, const ConnectRequestFields &fields,
			     cxxrt::Box<Admitted> place);
	Result<cxxrt::Ref<Path>> find_or_begin(Server &server, const rdma_cm_id &id,
					       const rdma_conn_param &request,
					       const ConnectRequestFields &fields);

	cxxrt::Guarded<State, cxxrt::Mutex> list_{cxxrt::lock_class<"rtrs_unauthenticated">()};
};

} // namespace rtrs::server
