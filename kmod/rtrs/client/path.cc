// SPDX-License-Identifier: GPL-2.0
// The owner of a path's life: states, attempts and pauses (protocol B.1.1, B.1.2).
#include <cxxrt/log.hh>
#include <cxxrt/noio.hh>
#include <rtrs/client/module.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>

using namespace cxxrt;

namespace rtrs::client {
Path::Path(Session &session, u32 index, const rtrs_addr_pair &pair)
    : session_(session), index_(index), workqueue_(module_->workqueue),
      attempts_queue_(module_->attempts), ticks_queue_(module_->ticks), pair_(pair),
      heartbeat_(this, on_heartbeat_lost, heartbeat_sent_.get(), session.heartbeat_limits()),
      shown_addresses_(pair)
{
	generate_random_uuid(uuid_.bytes);
	char text[RTRS_PAIR_TEXT];
	if (pair.has_src)
		rtrs_addr_print_pair(&pair.src, &pair.dst, text, sizeof(text));
	else
		rtrs_addr_print(&pair.dst, text, sizeof(text));
	log_name_.print("%s %s", session.name(), text);
}

Path::~Path()
{
	// It kicks the other one last.
	attempt_.cancel_sync();
	work_.cancel_sync();
	WARN_ON_ONCE(connections_.size());
}

Status Path::prepare()
{
	stats_ = TRY(PathStats::create());
	wr_counters_ = TRY(PerCpu<WrCounters>::create());
	return {};
}

bool Path::same_addresses(const rtrs_addr_pair &pair)
{
	char mine[RTRS_ADDR_TEXT];
	char other[RTRS_ADDR_TEXT];
	LockGuard<Mutex> held(info_lock_);
	rtrs_addr_print(&shown_addresses_.dst, mine, sizeof(mine));
	rtrs_addr_print(&pair.dst, other, sizeof(other));
	if (strcmp(mine, other))
		return false;
	if (!shown_addresses_.has_src || !pair.has_src)
		return shown_addresses_.has_src == pair.has_src;
	rtrs_addr_print(&shown_addresses_.src, mine, sizeof(mine));
	rtrs_addr_print(&pair.src, other, sizeof(other));
	return !strcmp(mine, other);
}

// ---- wishes ----

void Path::fail(Error error, PathError kind, PathReason reason)
{
	// A server tells nobody what is wrong with a proof, but ends the path (protocol J.3).
	if (READ_ONCE(proof_sent_) && error == err::econnreset)
		error = err::ekeyrejected;
	{
		LockGuard<SpinLock> held(state_lock_);
		if (!note_failure(error, kind, reason))
			return;
	}
	tell_failure();
}

// Under state_lock_. False if it has failed already, or has nothing to lose.
bool Path::note_failure(Error error, PathError kind, PathReason reason)
{
	const State next = after_error(state_);
	if (next == state_)
		return false;
	stats_->error(state_ == State::Connecting ? PathError::Connect : kind);
	error_ = error.code();
	last_failure_ = {error.code(),
			 reason == PathReason::None ? reason_of(kind, error) : reason};
	if (reason == PathReason::Starved)
		starved_ = true;
	const bool recovers = state_ == State::Connected;
	set_state(next);
	if (recovers)
		trace::error_recovery(*this);
	return true;
}

// Without it.
void Path::tell_failure()
{
	kick();
	wake();
	session_.path_left();
}

void Path::start_again(Error error, PathError kind)
{
	{
		LockGuard<SpinLock> held(state_lock_);
		now_ = true;
	}
	fail(error, kind);
}

void Path::request_close()
{
	go(State::Closing);
	kick();
}

void Path::request_end()
{
	{
		LockGuard<SpinLock> held(state_lock_);
		ending_ = true;
	}
	request_close();
}

Status Path::connect_first()
{
	kick();
	TRY(changed_.wait_killable([this] {
		const State s = state();
		return attempts_ended() != 0 || s == State::Closed || s == State::Dead;
	}));
	if (attempts_ended() != 0 && READ_ONCE(was_up_))
		return {};
	return failure();
}

Status Path::reconnect(Reconnect when)
{
	u32 ended;
	bool joins;
	{
		LockGuard<SpinLock> held(state_lock_);
		// An attempt that runs will do, if it succeeds; else another one follows.
		joins = state_ == State::Connecting || state_ == State::ConnectingError;
		if (ending_ || state_ == State::Closing || state_ == State::Dead)
			return err::ebusy;
		if (when == Reconnect::IfLost && state_ == State::Connected)
			return {};
		// The first one is of who made the path, and who ends it if that fails.
		if (joins && !READ_ONCE(was_up_))
			return err::ebusy;
		ended = attempts_ended_;
		attempts_ = 0;
		now_ = true;
		asked_ = Asked::Once;
		if (!joins)
			set_state(State::Reconnecting);
	}
	if (!joins) {
		kick();
		wake();
		session_.path_left();
	}
	TRY(changed_.wait_killable([&] {
		const State s = state();
		const u32 more = attempts_ended() - ended;
		return more >= 2 || (more == 1 && (!joins || s == State::Connected)) ||
		       s == State::Closing || s == State::Closed || s == State::Dead;
	}));
	return connected() ? Status() : Status(err::enotconn);
}

Status Path::disconnect()
{
	request_close();
	return changed_.wait_killable([this] { return state() != State::Closing; });
}

void Path::wait_end()
{
	changed_.wait([this] { return state() == State::Dead; });
}

// ---- the owner ----

// Under state_lock_.
void Path::set_state(State to)
{
	trace::state(*this, state_, to, error_);
	smp_store_release(&state_, to);
}

// Changes the state if the table allows it.
bool Path::go(State to)
{
	{
		LockGuard<SpinLock> held(state_lock_);
		if (!transition_allowed(state_, to))
			return false;
		set_state(to);
	}
	wake();
	if (to != State::Connected)
		session_.path_left();
	return true;
}

Error Path::failure()
{
	LockGuard<SpinLock> held(state_lock_);
	return error_ ? Error::from_code(error_) : err::econnaborted;
}

// By the owner: to user space, of a path that is to stay.
void Path::announce(SessionEvent::Kind kind)
{
	SessionEvent event;
	event.kind = kind;
	event.path = index_;
	{
		LockGuard<SpinLock> held(state_lock_);
		if (ending_)
			return;
		if (kind == SessionEvent::Kind::PathLost && !error_) {
			event.reason = PathReason::Asked;
		} else if (kind != SessionEvent::Kind::PathBack &&
			   kind != SessionEvent::Kind::PathUnproven) {
			event.error = last_failure_.error;
			event.reason = last_failure_.reason;
		}
	}
	rtrs_addr_print_pair(&pair_.src, &pair_.dst, event.name.data(), RTRS_PAIR_TEXT);
	session_.events().add(event);
}

void Path::announce_downgrade()
{
	if (READ_ONCE(downgraded_))
		announce(SessionEvent::Kind::PathUnproven);
}

void Path::attempt_ended()
{
	{
		LockGuard<SpinLock> held(state_lock_);
		// A reader of it sees what came of the attempt: was_up_, the state.
		smp_store_release(&attempts_ended_, attempts_ended_ + 1);
	}
	wake();
}

void Path::run()
{
	// A path under memory pressure must be able to reconnect: no memory waits for I/O, which
	// may be that of this very path.
	const NoIoScope noio;
	while (!smp_load_acquire(&lent_) && step())
		;
}

// The owner while it runs. Queues of an attempt that failed never carried a request: what takes
// them down may wait as long as the attempt did.
void Path::run_attempt()
{
	NoIoScope noio;
	attempt();
	if (!reported_up_)
		tear_down();
	smp_store_release(&lent_, false);
	kick();
}

// One step; false when nothing is to be done until somebody kicks the work item.
bool Path::step()
{
	switch (state()) {
	case State::Connecting:
		lent_ = true;
		attempt_.queue(attempts_queue_);
		return false;
	case State::ConnectingError:
		tear_down();
		return step_after_failed_attempt();
	case State::Reconnecting:
		return step_reconnecting();
	case State::Closing:
		trace::close_conns(*this);
		tear_down();
		WRITE_ONCE(pausing_, false);
		go(State::Closed);
		return true;
	case State::Closed: {
		LockGuard<SpinLock> held(state_lock_);
		if (!ending_)
			return false;
		break;
	}
	case State::Connected:
	case State::Dead:
		return false;
	}
	go(State::Dead);
	return false;
}

void Path::attempt()
{
	attempt_number_++;
	epoch_ = session_.epoch();
	unanswered_ = false;
	WRITE_ONCE(proof_sent_, false);
	{
		LockGuard<SpinLock> held(state_lock_);
		// A waiter for the attempt wants an answer, so the attempt waits for one, too.
		attempt_asked_ = exchange(asked_, Asked::No);
		const bool patient = !was_up_ || attempt_asked_ != Asked::No;
		answer_timeout_ = patient ? kStepTimeout : msecs_to_jiffies(next_timeout_.next());
		error_ = 0;
		// The state may have changed meanwhile; connect() sees that at its first wait.
	}
	const Status s = connect();
	if (!s.ok()) {
		// Not if fail() or a close came first.
		fail(s.error(), PathError::Connect,
		     unanswered_ ? PathReason::NoAnswer : PathReason::None);
		return;
	}
	// Whatever was told of it: it works.
	WRITE_ONCE(port_down_, false);
	if (const Status up = session_.path_up(*this); !up.ok()) {
		// The epoch is ours to wait for nobody. All else is an attempt like others.
		if (up.error() == err::eagain)
			start_again(up.error(), PathError::Connect);
		else
			fail(up.error(), PathError::Connect);
		return;
	}
	reported_up_ = true;

	{
		LockGuard<SpinLock> held(state_lock_);
		attempts_ = 0;
		// A waiter that joined this attempt needs no other one.
		if (state_ == State::Connected) {
			now_ = hurry_ = false;
			asked_ = Asked::No;
		}
	}
	next_timeout_.reset();
	connected_at_ = jiffies;
	log_info(log_name(), "connected, %u connections", static_cast<u32>(connections_.size()));
	if (was_up_) {
		stats_->reconnected();
		announce(SessionEvent::Kind::PathBack);
	}
	announce_downgrade();
	WRITE_ONCE(was_up_, true);
	// Last: its failure must meet a path that is complete (protocol G.1-54).
	heartbeat_.start(&*connections_[0], ticks_queue_);
	start_deadline();
	attempt_ended();
}

bool Path::step_after_failed_attempt()
{
	log_warning(log_name(), "connecting failed: %d", failure().code());
	if (!was_up_) {
		// A mapper, or a writer of sysfs, that waits for the attempt decides what follows.
		attempt_ended();
		return false;
	}
	stats_->reconnect_failed();
	if (ask_again()) {
		go(State::Reconnecting);
		return true;
	}
	if (refused_) {
		announce(SessionEvent::Kind::PathGaveUp);
		go(State::Closing);
	} else {
		go(State::Reconnecting);
	}
	attempt_ended();
	return true;
}

// A server tells of its own quarantine once, and takes the path then. Who has asked for the attempt
// has lifted both, so it is made once more before he hears of it.
bool Path::ask_again()
{
	LockGuard<SpinLock> held(state_lock_);
	if (!starved_ || attempt_asked_ != Asked::Once || asked_ != Asked::No)
		return false;
	starved_ = false;
	now_ = true;
	asked_ = Asked::Again;
	return true;
}

// Whether the path stays out of use, as it loses what is large and another one is there; if not any
// more, it is due. `asked`: an administrator wants it.
bool Path::hold_back(bool asked)
{
	const u64 now = static_cast<u64>(ktime_get_seconds());
	bool starved;
	{
		LockGuard<SpinLock> held(state_lock_);
		starved = exchange(starved_, false);
	}
	if (asked)
		quarantine_.lift();
	else if (starved)
		quarantine_.begin(now);
	const u32 rest = static_cast<u32>(quarantine_.rest(now));
	const bool held = rest && session_.another_connected(*this);
	if (held && !held_) {
		log_warning(log_name(),
			    "it loses large packets, and is not used for %u s while there is "
			    "another path",
			    rest);
		// Whatever ended it this time.
		LockGuard<SpinLock> locked(state_lock_);
		last_failure_.reason = PathReason::Starved;
	}
	if (held)
		WRITE_ONCE(due_, jiffies + rest * HZ);
	else if (held_)
		WRITE_ONCE(due_, jiffies);
	held_ = held;
	return held;
}

bool Path::step_reconnecting()
{
	bool now;
	bool hurry;
	bool asked;
	u32 attempts;
	{
		LockGuard<SpinLock> held(state_lock_);
		now = now_;
		hurry = hurry_;
		asked = asked_ != Asked::No;
		attempts = attempts_;
	}
	const bool soon = now || hurry;
	if (!pausing_) {
		const u32 longest_ms = session_.reconnect_delay() * u32{MSEC_PER_SEC};
		const unsigned long lived = connected_at_ ? jiffies - connected_at_ : 0;
		if (soon || lived > msecs_to_jiffies(longest_ms))
			backoff_.reset();
		connected_at_ = 0;
		held_ = false;
		tear_down();
		// Even the impatient wait until the server has seen the end of the old connections.
		const u32 random = get_random_u32();
		const u32 pause = soon		? kReconnectPauseMs
				  : unanswered_ ? backoff_.next_unanswered(random)
						: backoff_.next(longest_ms, random);
		unanswered_ = false;
		WRITE_ONCE(due_, jiffies + msecs_to_jiffies(pause));
		WRITE_ONCE(pausing_, true);
	} else if (soon) {
		backoff_.reset();
		WRITE_ONCE(due_, jiffies);
	}
	// The other path may end without a word to this one.
	const bool held_back = hold_back(asked);
	if (time_before(jiffies, due_)) {
		// A kick meanwhile runs the step early, and it comes here again.
		const unsigned long rest = held_back ? HZ : due_ - jiffies;
		LockGuard<SpinLock> held(state_lock_);
		const bool same = state_ == State::Reconnecting && now_ == now && hurry_ == hurry;
		if (same)
			work_.requeue_after(workqueue_, rest);
		return !same;
	}
	WRITE_ONCE(pausing_, false);
	if (!soon && !may_reconnect(attempts, session_.max_reconnects())) {
		log_warning(log_name(), "giving up after %u attempts", attempts);
		announce(SessionEvent::Kind::PathGaveUp);
		go(State::Closing);
		return true;
	}
	{
		LockGuard<SpinLock> held(state_lock_);
		now_ = hurry_ = false;
		refused_ = false;
		// What was in the way of those before was no fault of the server.
		if (!hurry)
			attempts_++;
	}
	trace::reconnect_work(*this);
	go(State::Connecting);
	return true;
}

} // namespace rtrs::client
