// SPDX-License-Identifier: GPL-2.0
// The deadline of requests. Heartbeats prove that the service connection and the peer's kernel
// live, not that an I/O connection does. When the oldest request of a connection has waited for
// some seconds (rtrs/pure/liveness_probe.hh), the connection is asked for a sign of life: by a
// write of no bytes, signaled and without an immediate, that the server's adapter acknowledges and
// its program does not see. If the connection is dead the path starts again, and its requests go to
// another path or end with an error; if only what is large was lost, it stays out of use for a
// while (rtrs/pure/quarantine.hh). If it lives, the server works on the request or has lost it.
// Neither would be different on another path: a disk that hangs harms its own users and nobody
// else. A server whose program hangs behind an adapter that acknowledges is in this no other.
//
// At each look a send queue that stands still is woken, too (rtrs/pure/sq_watchdog.hh).
//
// Runs beside I/O at long intervals and costs it nothing but the entries' locks, each for an
// instant.
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// How often the age is looked at, in jiffies.
unsigned long check_interval(u32 timeout_seconds)
{
	if (!timeout_seconds)
		return kStallInterval;
	return clamp(timeout_seconds * HZ / 4UL, HZ / 2UL, kStallInterval);
}

} // namespace

// From Connected until tear_down() cancels it, before the requests go.
void Path::start_deadline()
{
	deadline_.queue_after(ticks_queue_, check_interval(session_.request_timeout()));
}

void Path::check_deadline()
{
	if (session_.request_timeout() && !look_for_life(ktime_get_ns()))
		return;
	if (!wake_stalled())
		return;
	// A batch whose end was never told; nobody does that on purpose.
	{
		const RcuReader reader;
		for (Box<ClientConnection> &con : connections_)
			if (con->collects())
				con->commit();
	}
	start_deadline();
}

// False: a connection is dead, and the path has failed.
bool Path::look_for_life(u64 now)
{
	const u64 timeout = u64{session_.request_timeout()} * NSEC_PER_SEC;
	const LifeLimits limits = life_limits(timeout, fences_);
	for (Request &r : *requests_) {
		LockGuard<SpinLock> held(r.lock);
		// A request that has just begun may be later than `now`.
		if (r.state != RequestState::Idle && r.started_ns + limits.late < now)
			r.connection->note_wait(now - r.started_ns);
	}
	for (Box<ClientConnection> &con : connections_) {
		const Status s = con->look_for_life(now, limits, timeout);
		if (s.ok())
			continue;
		if (s.error() == err::etimedout)
			fail(s.error(), PathError::Timeout,
			     con->starves() ? PathReason::Starved : PathReason::Lifeless);
		else
			fail(s.error(), PathError::Post);
		return false;
	}
	return true;
}

// False: the path has failed.
bool Path::wake_stalled()
{
	for (Box<ClientConnection> &con : connections_) {
		Status s;
		{
			const RcuReader reader;
			if (posting())
				s = con->wake_if_stalled(con->send_cqe());
		}
		if (!s.ok()) {
			fail(s.error(), PathError::Post);
			return false;
		}
	}
	return true;
}

// The tear-down of a path waits for a grace period before the requests go.
bool Path::has_request(Slot slot, const void *priv) const
{
	if (!posting())
		return false;
	Request &r = (*requests_)[slot];
	LockGuard<SpinLock> held(r.lock);
	return r.state != RequestState::Idle && r.in.priv == priv;
}

void Session::lose_answer(Slot slot, const void *priv)
{
	const RcuReader reader;
	for (Path &path : paths_) {
		if (!path.has_request(slot, priv))
			continue;
		log_error(path.log_name(), "a message was not answered, the path starts again");
		path.fail(err::etimedout, PathError::Timeout);
	}
}

// Where in the server's memory does not matter, for there is nothing to write; a key that is valid
// there is given all the same, in case a device looks.
Status Path::post_probe(ClientConnection &con, u64 &place)
{
	ib_rdma_wr probe{};
	probe.wr.opcode = IB_WR_RDMA_WRITE;
	probe.wr.wr_cqe = con.send_cqe();
	{
		Request &first = (*requests_)[Slot{0}];
		// Answers write the key under it.
		LockGuard<SpinLock> held(first.lock);
		probe.remote_addr = remote_[0].address.value;
		probe.rkey = remote_[0].rkey.value;
	}
	return con.post_send(&probe.wr, &probe.wr, {.work_requests = 1, .requests = 0},
			     Signal::Always, &place);
}

bool ClientConnection::starves() const
{
	return path_.heard_since(liveness_.mark());
}

// ETIMEDOUT: dead. Else what the device says to a post.
Status ClientConnection::look_for_life(u64 now, const LifeLimits &limits, u64 timeout)
{
	const u64 wait = exchange(longest_wait_, 0ull);
	const u32 waited = static_cast<u32>(wait / NSEC_PER_SEC);
	if (wait <= timeout)
		told_of_wait_ = false;
	const RcuReader reader;
	if (!path_.posting())
		return {};
	// The thread that polled the queue may have gone without handling what has come.
	if (waited && is_polled())
		poll(nullptr);
	switch (
	    liveness_.look(waited != 0, sends_completed(), now, limits.dead, path_.heard_mark())) {
	case LivenessProbe::Next::Ask: {
		u64 place = 0;
		const Status s = path_.post_probe(*this, place);
		if (s.ok()) {
			liveness_.asked(place);
			await_sends();
		} else if (!(s.error() == err::eagain)) {
			return s;
		}
		break;
	}
	case LivenessProbe::Next::Lives:
		if (wait > timeout && !exchange(told_of_wait_, true))
			log_warning_limited(path_.log_name(),
					    "con %u: a request has waited for %u s, but the "
					    "connection lives: the server still works on it",
					    cid(), waited);
		break;
	case LivenessProbe::Next::Dead:
		log_error(
		    path_.log_name(),
		    "con %u: a request has waited for %u s and the connection shows no life%s, "
		    "the path starts again",
		    cid(), waited,
		    starves() ? ", though the server is heard: are large packets lost "
				"on the way (MTU)?"
			      : "");
		return err::etimedout;
	case LivenessProbe::Next::Wait:
		break;
	}
	return {};
}

} // namespace rtrs::client
