// SPDX-License-Identifier: GPL-2.0
// The deadline of requests. Heartbeats prove that the service connection and the peer's kernel
// live, not that a request is ever answered: an I/O connection or the server's disk can hang by
// itself. When the oldest request of a path has waited too long, the path starts again, and its
// requests go to another path or end with an error.
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

// How often the age is looked at: no request waits longer than the limit and a quarter.
u32 check_interval(u32 timeout_seconds)
{
	return clamp(timeout_seconds * MSEC_PER_SEC / 4, 500L, 5000L);
}

} // namespace

// From Connected until tear_down() cancels it, before the requests go.
void Path::start_deadline()
{
	const u32 interval = check_interval(session_.request_timeout());
	deadline_.queue_after(ticks_queue_, msecs_to_jiffies(interval));
}

void Path::check_deadline()
{
	const u32 timeout = session_.request_timeout();
	const u64 limit = u64{timeout} * NSEC_PER_SEC;
	const u64 now = ktime_get_ns();
	for (Request &r : *requests_) {
		if (!timeout)
			break;
		u32 waited;
		{
			LockGuard<SpinLock> held(r.lock);
			// A request that has just begun may be later than `now`.
			if (r.state == RequestState::Idle || r.started_ns + limit >= now)
				continue;
			waited = static_cast<u32>((now - r.started_ns) / NSEC_PER_SEC);
		}
		log_error(log_name(),
			  "a request was not answered within %u s, the path starts again", waited);
		fail(err::etimedout, PathError::Timeout);
		return;
	}
	// A batch whose end was never told; nobody does that on purpose.
	{
		const RcuReader reader;
		for (Box<ClientConnection> &con : connections_)
			if (con->collects())
				con->commit();
	}
	start_deadline();
}

} // namespace rtrs::client
