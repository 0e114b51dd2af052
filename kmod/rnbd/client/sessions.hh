// SPDX-License-Identifier: GPL-2.0
// The sessions by name, and who uses them (protocol E.1 "Session").
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/wait.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

class SessionTable;

// One use of a connected session, which closes with its last one. reset() may sleep for that.
class SessionUse {
public:
	constexpr SessionUse() = default;
	SessionUse(SessionUse &&o) : session_(cxxrt::move(o.session_)) {}
	SessionUse &operator=(SessionUse &&o)
	{
		if (this != &o) {
			reset();
			session_ = cxxrt::move(o.session_);
		}
		return *this;
	}
	SessionUse(const SessionUse &) = delete;
	SessionUse &operator=(const SessionUse &) = delete;
	~SessionUse() { reset(); }

	void reset();
	const Ref<Session> &session() const { return session_; }
	Session *operator->() const { return session_.get(); }
	explicit operator bool() const { return static_cast<bool>(session_); }

private:
	friend class SessionTable;
	explicit SessionUse(Ref<Session> session) : session_(cxxrt::move(session)) {}

	Ref<Session> session_;
};

class SessionTable {
public:
	explicit SessionTable(Module &module);
	SessionTable(const SessionTable &) = delete;
	SessionTable &operator=(const SessionTable &) = delete;

	// Finds the session, or opens it if there is none; waits while another caller opens or
	// closes it. ENXIO without session and paths; EINVAL for poll queues on a session that
	// exists, or for none on a polled one, or for another auth=, key= or setting than it has;
	// EINTR; or what opening met, also for those who waited for it. A session that was opened
	// to ask a server alone is waited for to its end, if it does not suit. Sleeps long.
	Result<SessionUse> acquire(TextView name, u32 poll_queues, const Destination &destination);
	// Whether a ready session of that name has mapped the path.
	bool is_mapped(TextView name, TextView path);
	// f(Session &) for all, under the table's lock.
	template <class F> void for_each(F &&f)
	{
		sessions_.with([&](Sessions &list) {
			for (Session &session : list)
				f(session);
		});
	}

private:
	friend class SessionUse;
	using Sessions = cxxrt::List<Session, &Session::table_node>; // each holds a reference

	static Session *find(Sessions &list, TextView name);
	static bool fits(const Session &session, u32 poll_queues, const Destination &wanted);
	static bool has_auth(const Session &session, const Destination &wanted);
	static Status check_poll_queues(const Session &session, u32 wanted);
	static Status check_auth(const Session &session, const Destination &wanted);
	static Status check_settings(const Session &session, const Destination &wanted);
	Result<SessionUse> open_new(Ref<Session> session, const Destination &destination);
	void release(Ref<Session> session);
	void close(Ref<Session> session);

	Module &module_;
	cxxrt::Guarded<Sessions, cxxrt::Mutex> sessions_;
	cxxrt::WaitQueue phase_changed_;
};

} // namespace rnbd::client
