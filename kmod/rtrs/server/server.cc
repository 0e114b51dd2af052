// SPDX-License-Identifier: GPL-2.0
// The server's sessions: finding, naming and ending them.
#include <rtrs/server/server.hh>

#include <cxxrt/log.hh>
#include <rtrs/server/addresses.hh>
#include <rtrs/server/module.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

constexpr char kServerSubject[] = "server";
// How long a shutdown of the machine waits for sessions to end.
constexpr u32 kShutdownWaitMs = 5000;

// For FailureLimit.
u64 now_ms()
{
	return jiffies64_to_msecs(get_jiffies_64());
}

} // namespace

// Under the lock. A session whose last reference was dropped is as good as gone; it unlists itself
// as soon as it gets the lock.
Server::Found Server::find_locked(Sessions &s, const Uuid &id, bool proven)
{
	Found found;
	for (Session &session : s.list) {
		if (!(session.id() == id) || (session.key() != nullptr) != proven)
			continue;
		found.known = true;
		if (!session.ended() && !found.session)
			found.session = Ref<Session>::try_share(&session);
	}
	return found;
}

// What has no memory yet counts among what begins only.
Status Server::check_quota(Sessions &s, const Source &source, bool begins)
{
	SessionLoad load{};
	load.bytes_per_session = u64{settings().chunk_size()} * settings().queue_depth();
	load.memory = u64{totalram_pages()} << PAGE_SHIFT;
	for (const Session &session : s.list) {
		const bool same = session.source() == source;
		if (!session.pins) {
			load.half_open_of_host += begins && same && !session.ended();
			continue;
		}
		if (session.ended()) {
			load.ended++;
			load.ended_of_host += same;
		} else {
			load.sessions++;
			load.of_host += same;
		}
	}
	const Quota quota = check_session_quota(load, module_->limits.sessions());
	if (quota == Quota::HalfOpenOfHost)
		admission_.make_room(source);
	return refuse_over(quota);
}

Result<Ref<Session>> Server::find_or_create(const ConnectRequestFields &fields,
					    const rdma_cm_id &id)
{
	const Source source = source_of(id);
	const bool stranger = is_stranger(source);
	Ref<Session> found;
	TRY(sessions_.with([&](Sessions &s) -> Status {
		Found here = find_locked(s, fields.session, false);
		found = move(here.session);
		if (found)
			return {};
		// Only who opens a session makes one: a path that is added to a session which
		// this server has lost would be half a session (protocol G.1-23). Who tells
		// sessions from each other by their instance, notices.
		if (!fields.first_connection && !(here.known && fields.fences))
			return err::enxio;
		// cid 0 comes first: its path failed meanwhile, and the session with it.
		if (!fields.cid.is_service())
			return err::econnreset;
		TRY(admission_.fits(source, stranger, Session::memory(*this)));
		return check_quota(s, source, true);
	}));
	if (found)
		return found;

	// Another connection of this client can be faster.
	return add(TRY(Session::create(*this, fields.session, get_random_u32(), nullptr, source,
				       ibdev_to_node(id.device))));
}

// The one that is there now, if another one was faster.
Result<Ref<Session>> Server::add(Ref<Session> fresh)
{
	Ref<Session> found;
	TRY(sessions_.with([&](Sessions &s) -> Status {
		found = move(find_locked(s, fresh->id(), fresh->key() != nullptr).session);
		if (found)
			return {};
		s.list.push_back(*fresh);
		s.alive++;
		found = fresh;
		return {};
	}));
	return found;
}

Server::ProvenLife Server::proven_life(const Uuid &id)
{
	// Its reference ends without the lock, which the end of a session takes.
	const Found found = sessions_.with([&](Sessions &s) { return find_locked(s, id, true); });
	return {
	    .lives = static_cast<bool>(found.session),
	    .known = found.known,
	    .instance = found.session ? found.session->instance() : 0,
	};
}

Status Server::may_return(const ConnectRequestFields &fields)
{
	const Ref<Session> session = sessions_.with(
	    [&](Sessions &s) { return find_locked(s, fields.session, true).session; });
	return session ? session->may_return(fields) : Status();
}

Result<Server::ProvenLife> Server::may_begin(const ConnectRequestFields &fields)
{
	const ProvenLife life = proven_life(fields.session);
	if (!life.lives && !fields.first_connection && !(life.known && fields.fences))
		return err::enxio;
	return life;
}

Result<Box<Admitted>> Server::admit_path(const rdma_cm_id &id, const ConnectRequestFields &fields)
{
	Box<Admitted> place = TRY(make_box<Admitted>(GFP_KERNEL));
	place->source = source_of(id);
	place->stranger = is_stranger(place->source);
	TRY(admission_.enter(*place, fields.connection_count));
	return place;
}

Status Server::admit(Path &path)
{
	Ref<Session> session = sessions_.with(
	    [&](Sessions &s) { return find_locked(s, path.asked().session, true).session; });
	if (!session) {
		TRY(unauthenticated_.begin_session(path));
		TRY(sessions_.with(
		    [&](Sessions &s) { return check_quota(s, path.source(), false); }));
		session = TRY(add(TRY(Session::create(*this, path.asked().session, path.instance(),
						      &path.key()->name, path.source(),
						      ibdev_to_node(path.device().ibdev())))));
	}
	// REP spoke of one that has ended, or of one that another path was to begin.
	if (session->instance() != path.instance())
		return kSessionEnded;
	if (!(*session->key() == path.key()->name)) {
		path.refuse(Refusal::ProofFailed, "another key has founded the session");
		return err::eacces;
	}
	return session->admit(path);
}

// The one that waits for all of them may free the server as soon as the works of the queues, of
// which this is one, have returned.
void Server::remove_unauthenticated(Path &path)
{
	// What came instead of a proof, if anything, costs as much as a wrong one: whoever has no
	// key would send that. Not if it was this side that could not answer, nor if nobody has
	// heard the answer: then the request may have come in another host's name.
	const Exchange &exchange = *path.proof();
	if (exchange.state == ServerAuth::Challenged && exchange.challenged && path.heard())
		(void)proof_failed(exchange.from);
	unauthenticated_.remove(path);
	gone_.wake_all();
}

bool Server::proof_failed(const Source &from)
{
	return failures_.with([&](auto &limit) { return limit.failed(from, now_ms()); });
}

void Server::proof_was_right(const Source &from)
{
	failures_.with([&](auto &limit) { limit.proven(from, now_ms()); });
}

bool Server::is_stranger(const Source &from)
{
	return failures_.with([&](auto &limit) { return limit.is_stranger(from); });
}

bool Server::may_ask(const rdma_cm_id &id, ConnectionId cid)
{
	const Source from = source_of(id);
	if (!cid.is_service())
		return failures_.with(
		    [&](auto &limit) { return limit.allows_more(from, now_ms()); });
	const Asking asking = unauthenticated_.asking(from);
	return failures_.with([&](auto &limit) { return limit.allows(from, now_ms(), asking); });
}

Status Server::claim_name(Session &session, TextView name)
{
	return sessions_.with([&](Sessions &s) -> Status {
		// It would not be given back.
		if (session.ended())
			return err::econnaborted;
		const TextView claimed = session.claimed_name.view();
		if (!claimed.empty())
			return claimed == name ? Status() : Status(err::einval);
		for (const Session &other : s.list)
			if (other.claimed_name.view() == name)
				return other.ended() ? err::ebusy : err::eexist;
		session.claimed_name.assign(name);
		return {};
	});
}

Ref<Session> Server::find_by_name(TextView name)
{
	return sessions_.with([&](Sessions &s) -> Ref<Session> {
		for (Session &session : s.list)
			if (session.claimed_name.view() == name)
				return Ref<Session>::try_share(&session);
		return {};
	});
}

void Server::release_name(Session &session)
{
	sessions_.with([&](Sessions &) { session.claimed_name.assign({}); });
}

Status Server::may_pin(Session &session)
{
	return sessions_.with([&](Sessions &s) -> Status {
		if (!session.pins)
			TRY(check_quota(s, session.source(), false));
		session.pins = true;
		return {};
	});
}

void Server::unlist(Session &session)
{
	sessions_.with([&](Sessions &s) { s.list.remove(session); });
}

void Server::session_gone()
{
	sessions_.with([&](Sessions &s) {
		s.alive--;
		gone_.wake_all();
	});
}

Status Server::start(u16 port)
{
	TRY(listener_.start(port));
	reboot_.start();
	return {};
}

void Server::close_all()
{
	// First, so that no session and no path is made any more.
	listener_.stop();
	admission_.end_waits();
	requests_.stop();
	// Before sessions: one of these that goes on nevertheless is in one by now.
	unauthenticated_.close_all();
	for (;;) {
		Ref<Session> open;
		sessions_.with([&](Sessions &s) {
			for (Session &session : s.list) {
				if (session.closing)
					continue;
				session.closing = true;
				open = Ref<Session>::try_share(&session);
				if (open)
					return;
			}
		});
		if (!open)
			break;
		open->close_paths();
	}
}

void Server::shut_down()
{
	close_all();
	// So that clients are told, and go to another server's path at once. Requests that a disk
	// does not end hold up a session, but must not hold up the machine.
	if (!gone_.wait_for(msecs_to_jiffies(kShutdownWaitMs), [&] { return all_gone(); }).ok())
		log_warning(kServerSubject, "the machine goes down before all requests have ended");
}

void Server::stop()
{
	// It may be running: as this module is removed while the machine goes down.
	reboot_.stop();
	close_all();
	// Each session dies with its last path, and those end by their close works.
	gone_.wait([&] { return all_gone(); });
}

} // namespace rtrs::server

CXXRT_FOR_C const char *rtrs_srv_sess_name(const rtrs_srv_sess *sess)
{
	return static_cast<const rtrs::server::Session *>(sess)->name();
}

CXXRT_FOR_C const char *rtrs_srv_sess_key(const rtrs_srv_sess *sess)
{
	const rtrs::KeyName *key = static_cast<const rtrs::server::Session *>(sess)->key();
	return key ? key->c_str() : "";
}

CXXRT_FOR_C u32 rtrs_srv_sess_queue_depth(const rtrs_srv_sess *)
{
	return rtrs::server::settings().queue_depth();
}
