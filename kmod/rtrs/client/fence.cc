// SPDX-License-Identifier: GPL-2.0
// That no request which was on a dead path is executed after newer ones (protocol J.1).
//
// When a path has died, the client's own queue pairs are drained: nothing is sent on it any more.
// But what was sent may still lie in the network, and the server's end of the path takes it when it
// comes, be it after a later write to the same blocks. So a request is sent again only when the
// server has ended its end of the path (fence()). Where nobody can be asked, the request is given
// up, and so are all paths as they are: the epoch counts up, every path has to connect anew under
// the new one, and the server makes those wait until what was begun under older ones has ended.
//
// A server that does not offer fences is asked for nothing: with it, requests move at once.
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

constexpr u32 kFenceCheckMs = 1000;
constexpr u32 kFenceRetryMs = 20;

} // namespace

// Every path that is there is asked, since some of them may be dead too, though nobody has noticed:
// the first answer counts. The others come as well, later, and tell who can be asked anew.
bool Session::fence(const Path &dead)
{
	if (!dead.fences())
		return true;
	LockGuard<Mutex> held(fence_lock_);
	const u32 serial = dead.serial();
	auto done = [this] {
		return __atomic_load_n(&fence_wanted_, __ATOMIC_ACQUIRE) == 0;
	};
	__atomic_store_n(&fence_wanted_, serial, __ATOMIC_RELEASE);
	while (!done()) {
		const Carriers carriers = ask_carriers(dead);
		if (carriers == Carriers::None && !done())
			return false;
		// Without anybody to wait for, room in a queue or the end of another fence will do.
		(void)fence_changed_.wait_for(
		    msecs_to_jiffies(carriers == Carriers::Asked ? kFenceCheckMs : kFenceRetryMs),
		    [&] { return done() || (carriers == Carriers::Asked && !is_carried(serial)); });
	}
	return true;
}

// A path carries one fence at a time. One that does not answer in time is given up.
Session::Carriers Session::ask_carriers(const Path &dead)
{
	Carriers carriers = Carriers::None;
	const RcuReader reader;
	for (Path &path : paths_) {
		if (&path == &dead || !path.connected() || !path.fences())
			continue;
		if (path.fence_overdue()) {
			log_error(path.log_name(),
				  "the server does not end a dead path within %u s",
				  kFenceTimeoutMs / 1000);
			path.fail(err::etimedout, PathError::Timeout);
			continue;
		}
		if (!path.carried_fence()) {
			const Status s = path.post_fence(dead.serial());
			if (!s.ok() && !(s.error() == err::eagain)) {
				path.fail(s.error(), PathError::Post);
				continue;
			}
		}
		if (path.carried_fence() == dead.serial())
			carriers = Carriers::Asked;
		else if (carriers == Carriers::None)
			carriers = Carriers::Busy;
	}
	return carriers;
}

bool Session::is_carried(u32 serial)
{
	const RcuReader reader;
	for (Path &path : paths_)
		if (path.connected() && path.carried_fence() == serial)
			return true;
	return false;
}

void Path::on_fence_done(u32 serial)
{
	u32 carried = serial;
	__atomic_compare_exchange_n(&carried_fence_, &carried, 0u, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	session_.on_fence_done(serial);
}

bool Path::fence_overdue() const
{
	return carried_fence() &&
	       time_after(jiffies, READ_ONCE(fence_posted_) + msecs_to_jiffies(kFenceTimeoutMs));
}

void Session::on_fence_done(u32 serial)
{
	u32 wanted = serial;
	__atomic_compare_exchange_n(&fence_wanted_, &wanted, 0u, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	fence_changed_.wake_all();
}

// Under links_lock_. A path that comes up in a new session of the server, which was started anew,
// is the first to know that the old one is gone, and with it everything that the user has at the
// server. Those of his paths that lead to it are dead, though nobody has noticed: they have to go
// first, so that he hears of a loss and an end of it. A path that he has not got holds nobody up,
// whatever it was connected to once.
bool Session::server_lost_us(const Path &path)
{
	bool lost = false;
	const RcuReader reader;
	for (Path &other : paths_) {
		if (&other == &path)
			continue;
		const bool unproven = path.is_proven() && !other.is_proven();
		if (!unproven && (!other.fences() || other.instance() == path.instance()))
			continue;
		if (other.connected()) {
			log_info(other.log_name(), "%s",
				 unproven ? "closed: its server has proven nothing, another has"
					  : "the server has lost the session of this path");
			other.fail(err::econnreset, PathError::Disconnected);
		}
		// Also if it is on its way down.
		lost |= other.counted;
	}
	return lost;
}

void Session::give_up()
{
	LockGuard<Mutex> held(links_lock_);
	WRITE_ONCE(epoch_, epoch_ + 1);
	// Paths that came up meanwhile: the server has let them in without waiting for what is
	// given up now.
	const RcuReader reader;
	for (Path &path : paths_)
		if (path.connected() && path.fences())
			path.start_again(err::eagain, PathError::Disconnected);
}

} // namespace rtrs::client
