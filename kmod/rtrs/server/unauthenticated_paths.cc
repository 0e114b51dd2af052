// SPDX-License-Identifier: GPL-2.0
// Connection requests of paths that are challenged, and their way into a session.
#include <rtrs/server/unauthenticated_paths.hh>

#include <cxxrt/log.hh>
#include <rtrs/pure/fence.hh>
#include <rtrs/server/server.hh>

using namespace cxxrt;

namespace rtrs::server {

// By what the client says, and by where it really is: what somebody else says of himself does not
// get in the way of an attempt, nor into it.
Path *UnauthenticatedPaths::find(State &s, const ConnectRequestFields &fields, const rdma_cm_id &id)
{
	for (Path &path : s.list)
		if (!path.closing() && path.id() == fields.path &&
		    path.proof()->from == source_of(id) && path.ends().same_hosts(PathEnds::of(id)))
			return &path;
	return nullptr;
}

Path *UnauthenticatedPaths::find_sibling(State &s, const Uuid &session)
{
	for (Path &path : s.list)
		if (!path.closing() && path.asked().session == session &&
		    path.proof()->life != SessionLife::Joins)
			return &path;
	return nullptr;
}

Status UnauthenticatedPaths::connect(Server &server, rdma_cm_id *id, const rdma_conn_param &request,
				     const ConnectRequestFields &fields)
{
	const Ref<Path> path = TRY(find_or_begin(server, *id, request, fields));
	return path->connect(id, request, fields);
}

Result<Ref<Path>> UnauthenticatedPaths::find_or_begin(Server &server, const rdma_cm_id &id,
						      const rdma_conn_param &request,
						      const ConnectRequestFields &fields)
{
	if (!fields.cid.is_service())
		return list_.with([&](State &s) -> Result<Ref<Path>> {
			Path *path = find(s, fields, id);
			if (!path)
				return err::enoent;
			return Ref<Path>::share(path);
		});
	// Under the session's lock, in which the one of this list is taken elsewhere.
	TRY(server.may_return(fields));
	// It may wait for its place, but not under the lock, nor for what is refused anyway.
	TRY(server.may_begin(fields));
	Box<Admitted> place = TRY(server.admit_path(id, fields));
	return list_.with([&](State &s) -> Result<Ref<Path>> {
		if (Path *path = find(s, fields, id)) {
			if (!path->is_older_than(fields))
				return err::econnreset;
			// Of the same host, and neither has proven anything.
			path->close();
		}
		return Ref<Path>::share(
		    TRY(begin(s, server, id, request, fields, cxxrt::move(place))));
	});
}

Result<Path *> UnauthenticatedPaths::begin(State &s, Server &server, const rdma_cm_id &id,
					   const rdma_conn_param &request,
					   const ConnectRequestFields &fields, Box<Admitted> place)
{
	const Server::ProvenLife life = TRY(server.may_begin(fields));
	// Paths of one client come together, and are to be in one session, whichever is first.
	Path *const sibling = life.lives ? nullptr : find_sibling(s, fields.session);

	Box<Exchange> exchange = TRY(make_box<Exchange>(GFP_KERNEL));
	(void)exchange->go(ServerAuthEvent::ChoseProof);
	get_random_bytes(exchange->nonce.bytes, sizeof(exchange->nonce.bytes));
	// parse_connect_request() found that there is so much.
	__builtin_memcpy(exchange->request, request.private_data, sizeof(exchange->request));
	exchange->from = source_of(id);
	exchange->stranger = place->stranger;
	if (life.lives || (sibling && sibling->proof()->life == SessionLife::Begins))
		exchange->life = SessionLife::Joins;
	const u32 instance = life.lives ? life.instance
			     : sibling	? sibling->instance()
					: get_random_u32();
	if (!s.last_serial)
		s.last_serial = get_random_u32();
	s.last_serial = next_serial(s.last_serial);
	Ref<Path> path = TRY(Path::create(server, id, fields, s.last_serial, instance,
					  move(exchange), cxxrt::move(place)));
	s.list.push_back(*path);
	WRITE_ONCE(s.count, s.count + 1);
	path->start_handshake_timer();
	// The list's reference.
	return path.release();
}

bool UnauthenticatedPaths::same_session(const Path &a, const Path &b)
{
	return &a != &b && a.instance() == b.instance() && a.asked().session == b.asked().session;
}

// The first to ask is the one: the others join what he begins. If that fails they come again.
Status UnauthenticatedPaths::begin_session(Path &path)
{
	return list_.with([&](State &s) -> Status {
		if (path.proof()->life == SessionLife::Joins) {
			for (Path &other : s.list)
				if (same_session(path, other) && !other.closing() &&
				    other.proof()->life == SessionLife::Begins)
					return err::eagain;
			return kSessionEnded;
		}
		path.proof()->life = SessionLife::Begins;
		for (Path &other : s.list)
			if (same_session(path, other))
				other.proof()->life = SessionLife::Joins;
		return {};
	});
}

Asking UnauthenticatedPaths::asking(const Source &from)
{
	return list_.with([&](State &s) {
		Asking asking;
		for (Path &path : s.list) {
			const Exchange &exchange = *path.proof();
			if (READ_ONCE(exchange.state) == ServerAuth::Proven || !path.heard())
				continue;
			asking.same += exchange.from == from;
			asking.strangers += exchange.stranger;
		}
		return asking;
	});
}

bool UnauthenticatedPaths::promote(Path &path)
{
	return list_.with([&](State &s) {
		s.list.remove(path);
		WRITE_ONCE(s.count, s.count - 1);
		return path.go_on();
	});
}

void UnauthenticatedPaths::remove(Path &path)
{
	list_.with([&](State &s) {
		s.list.remove(path);
		WRITE_ONCE(s.count, s.count - 1);
	});
	Ref<Path>::adopt(&path).reset();
}

void UnauthenticatedPaths::close_all()
{
	list_.with([](State &s) {
		for (Path &path : s.list)
			path.close();
	});
}

} // namespace rtrs::server
