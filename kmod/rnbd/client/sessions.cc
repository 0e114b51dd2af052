// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/sessions.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/module.hh>

namespace rnbd::client {

using cxxrt::lock_class;
using Phase = Session::Phase;

SessionTable::SessionTable(Module &module)
    : module_(module), sessions_(lock_class<"rnbd_client sessions">()),
      phase_changed_(lock_class<"rnbd_client phases">())
{
}

Session *SessionTable::find(Sessions &list, TextView name)
{
	for (Session &session : list)
		if (session.name_view() == name)
			return &session;
	return nullptr;
}

// Whether a device can be mapped there as it is wanted.
bool SessionTable::fits(const Session &session, u32 poll_queues, const Destination &wanted)
{
	return !poll_queues && !session.wanted_poll_queues() && has_auth(session, wanted) &&
	       !rtrs_clt_check_settings(session.transport(), &wanted.settings);
}

// A key without a policy asks for a proof, as for a new session.
bool SessionTable::has_auth(const Session &session, const Destination &wanted)
{
	const TextView auth =
	    wanted.auth.empty() && !wanted.key.empty() ? TextView("required") : wanted.auth;
	return (auth.empty() || auth == session.auth()) &&
	       (wanted.key.empty() || wanted.key == session.key());
}

// Polled devices need a session of their own, made by the first mapper.
Status SessionTable::check_poll_queues(const Session &session, u32 wanted)
{
	if (!wanted && !session.wanted_poll_queues())
		return {};
	log_error(session.name(), "Polled devices need a session of their own");
	return err::einval;
}

// A session that is open has proven what it has, or nothing: that is not made to look otherwise.
Status SessionTable::check_auth(const Session &session, const Destination &wanted)
{
	if (has_auth(session, wanted))
		return {};
	log_error(session.name(), "The session is open with another auth= or key=");
	return err::einval;
}

// Other disks have them too: nobody's settings change because another disk is mapped.
Status SessionTable::check_settings(const Session &session, const Destination &wanted)
{
	const int code = rtrs_clt_check_settings(session.transport(), &wanted.settings);
	if (code)
		log_error(session.name(), "The session is open with other settings than asked for");
	return Status::from_code(code);
}

Result<SessionUse> SessionTable::acquire(TextView name, u32 poll_queues,
					 const Destination &destination)
{
	for (;;) {
		Ref<Session> wait_for;
		Ref<Session> created;
		SessionUse found;
		bool passes = false;
		TRY(sessions_.with([&](Sessions &list) -> Status {
			Session *session = find(list, name);
			if (!session) {
				if (!destination.path_count)
					return err::enxio;
				created = TRY(Session::create(module_, name, poll_queues));
				created->set_passing(destination.any_queues);
				list.push_back(*created);
				created->get();
				return {};
			}
			if (session->phase() != Phase::Ready) {
				wait_for = Ref<Session>::share(session);
				return {};
			}
			if (session->is_passing() && !destination.any_queues &&
			    !fits(*session, poll_queues, destination)) {
				wait_for = Ref<Session>::share(session);
				passes = true;
				return {};
			}
			if (!destination.any_queues)
				TRY(check_poll_queues(*session, poll_queues));
			TRY(check_auth(*session, destination));
			TRY(check_settings(*session, destination));
			if (!destination.any_queues) {
				session->set_passing(false);
				phase_changed_.wake_all();
			}
			session->uses++;
			found = SessionUse(Ref<Session>::share(session));
			return {};
		}));
		if (found)
			return found;
		if (created)
			return open_new(cxxrt::move(created), destination);

		TRY(phase_changed_.wait_killable([&] {
			const Phase phase = wait_for->phase();
			// Or somebody else has mapped a device there: it stays as it is.
			const bool stays = !passes || !wait_for->is_passing();
			return (phase == Phase::Ready && stays) || phase == Phase::Gone;
		}));
		// A mapper that waits for a first mapper shares its failure; a session that closed
		// is tried anew, and so is one whose mapper was killed, which found out nothing.
		if (const Status s = wait_for->open_status();
		    wait_for->phase() == Phase::Gone && !s.ok() && !(s.error() == err::eintr))
			return s.error();
	}
}

Result<SessionUse> SessionTable::open_new(Ref<Session> session, const Destination &destination)
{
	Status s = session->open(destination);
	if (!s.ok()) {
		close(cxxrt::move(session));
		return s.error();
	}
	sessions_.with([&](Sessions &) { session->set_phase(Phase::Ready); });
	phase_changed_.wake_all();
	return SessionUse(cxxrt::move(session));
}

void SessionTable::release(Ref<Session> session)
{
	const bool last = sessions_.with([&](Sessions &) {
		if (--session->uses)
			return false;
		session->set_phase(Phase::Closing);
		return true;
	});
	if (last)
		close(cxxrt::move(session));
}

// The name stays taken until the transport has given it up.
void SessionTable::close(Ref<Session> session)
{
	session->close();
	sessions_.with([&](Sessions &list) {
		list.remove(*session);
		session->set_phase(Phase::Gone);
	});
	session->put();
	phase_changed_.wake_all();
}

bool SessionTable::is_mapped(TextView name, TextView path)
{
	return sessions_.with([&](Sessions &list) {
		Session *session = find(list, name);
		return session && session->phase() == Phase::Ready && session->has_device(path);
	});
}

void SessionUse::reset()
{
	if (!session_)
		return;
	SessionTable &table = session_->module().sessions();
	table.release(cxxrt::move(session_));
}

} // namespace rnbd::client
