// SPDX-License-Identifier: GPL-2.0
// The server that a user of the transport has opened: one per system.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/reboot.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/wait.hh>
#include <rtrs/rtrs.h>
#include <rtrs/pure/auth_policy.hh>
#include <rtrs/pure/failure_limit.hh>
#include <rtrs/server/admission.hh>
#include <rtrs/server/unauthenticated_paths.hh>
#include <rtrs/server/listener.hh>
#include <rtrs/server/requests.hh>
#include <rtrs/server/session.hh>

// The opaque handle of rtrs.h is the base of the object behind it.
struct rtrs_srv {};

namespace rtrs::server {

class Server : public rtrs_srv {
public:
	explicit Server(const rtrs_srv_ops &ops) : ops_(ops) {}
	Server(const Server &) = delete;
	Server &operator=(const Server &) = delete;

	// EADDRINUSE, ... May sleep.
	cxxrt::Status start(u16 port);
	// Stops listening, closes every path of every session, and waits until they are gone. The
	// works of the last path may still be returning: the caller flushes the queues before it
	// frees the server.
	void stop();

	const rtrs_srv_ops &ops() const { return ops_; }
	Admission &admission() { return admission_; }

	// A connection request, in the event handler of its id (handshake.cc). Not 0: the
	// connection manager destroys the id.
	int connect_request(rdma_cm_id *id, const rdma_cm_event &event);

	// ---- sessions; the lock is inside Session's ----

	// The session that the request names and that has not ended, made if it is the session's
	// first connection (protocol A.8), or the first since its last one has ended: ENXIO if it
	// names none and is no first one, EUSERS or ENOMEM over a quota. Never one that was founded
	// by a proof. May sleep.
	Result<cxxrt::Ref<Session>> find_or_create(const ConnectRequestFields &fields,
						   const rdma_cm_id &id);
	// Gives the session its name. EINVAL if it has another one, EEXIST if another session has
	// the name, EBUSY if that one is about to give it back, ECONNABORTED if this one has ended.
	Status claim_name(Session &session, TextView name);
	// The session that has the name, or none.
	cxxrt::Ref<Session> find_by_name(TextView name);
	// Of a session that has ended, and of which nothing is seen any more.
	void release_name(Session &session);
	// Whether the session may have its memory: EUSERS or ENOMEM over a quota. From then on it
	// counts as one that has.
	Status may_pin(Session &session);
	// By the session's end, before and after it is freed.
	void unlist(Session &session);
	void session_gone();

	// ---- paths that have to prove first (protocol J.3) ----

	// The session of that id that was founded by a proof: whether it lives, and if not, whether
	// there is something left of one.
	struct ProvenLife {
		bool lives = false;
		bool known = false;
		u32 instance = 0;
	};
	ProvenLife proven_life(const Uuid &id);
	// kStarvedPath: the path of this request has to stay away. Takes the session's lock.
	Status may_return(const ConnectRequestFields &fields);
	// As proven_life() for an attempt that would begin or join it. ENXIO: it names one that is
	// lost.
	Result<ProvenLife> may_begin(const ConnectRequestFields &fields);
	// What the path of this request counts for. Errors are those of Admission::enter(), which
	// may wait.
	Result<cxxrt::Box<Admitted>> admit_path(const rdma_cm_id &id,
						const ConnectRequestFields &fields);
	// The path has proven who it is, and joins the session that its REP spoke of, or begins it.
	// EAGAIN: not yet. Otherwise an error is the end of the attempt. May sleep.
	Status admit(Path &path);
	void await_applications() { unauthenticated_.await_connection_requests(); }
	bool promote(Path &path) { return unauthenticated_.promote(path); }
	void remove_unauthenticated(Path &path);
	// An attempt from there has not proven anything; whether the log should tell. Any context.
	bool proof_failed(const Source &from);
	// One has: no flood of others keeps who is there out from now on. Any context.
	void proof_was_right(const Source &from);
	bool is_stranger(const Source &from);

private:
	using SessionList = cxxrt::List<Session, &Session::server_node>;

	struct Sessions {
		SessionList list;
		u32 alive = 0; // listed, or freed without having called session_gone() yet
	};

	// No client connects any more, and every path is closing: no request is answered from now
	// on.
	void close_all();
	// The machine goes down, and its disks may do so before its network: what they say of the
	// requests that they still have must not reach a client as their answer. Reboot notifier.
	void shut_down();

	bool all_gone()
	{
		return unauthenticated_.empty() && READ_ONCE(sessions_.exclusive().alive) == 0;
	}

	// In the work item of a request. An error leaves the id with the caller.
	static Status serve(void *server, rdma_cm_id *id, const rdma_conn_param &request);
	Status greet(rdma_cm_id *id, const rdma_conn_param &request,
		     const ConnectRequestFields &fields);
	Status connect_plain(rdma_cm_id *id, const rdma_conn_param &request,
			     const ConnectRequestFields &fields);
	bool may_ask(const rdma_cm_id &id, ConnectionId cid);

	struct Found {
		cxxrt::Ref<Session> session; // that has not ended
		bool known = false;	     // there is one, or was until not long ago
	};
	static Found find_locked(Sessions &s, const Uuid &id, bool proven);
	Result<cxxrt::Ref<Session>> add(cxxrt::Ref<Session> fresh);
	Status check_quota(Sessions &s, const Source &source, bool begins);

	const rtrs_srv_ops ops_;
	Admission admission_;
	cxxrt::Guarded<FailureLimit<>, cxxrt::SpinLock> failures_{
	    cxxrt::lock_class<"rtrs_failures">()};
	Requests requests_{serve, this};
	UnauthenticatedPaths unauthenticated_;
	cxxrt::Guarded<Sessions, cxxrt::Mutex> sessions_{cxxrt::lock_class<"rtrs_sessions">()};
	cxxrt::WaitQueue gone_{cxxrt::lock_class<"rtrs_gone">()};
	Listener listener_{*this};
	cxxrt::RebootNotifier<Server, &Server::shut_down> reboot_{this};
};

} // namespace rtrs::server
