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

bool Session::fence(const Path &dead)
{
	if (!dead.fences())
		return true;
	LockGuard<Mutex> held(fence_lock_);
	WRITE_ONCE(fence_done_, 0u);
	for (;;) {
		Error error = err::econnaborted;
		const u32 carrier = send_fence(dead, error);
		if (!carrier && !(error == err::eagain))
			return false;
		// Full: a send completes soon. Else the server answers, or the path that carries
		// the fence is given up as well, by its heartbeat or here.
		const unsigned long patience =
		    carrier ? msecs_to_jiffies(kFenceTimeoutMs) : msecs_to_jiffies(20);
		const Status s = fence_changed_.wait_for(patience, [&] {
			return READ_ONCE(fence_done_) == dead.serial() ||
			       (carrier && !carries(carrier));
		});
		if (READ_ONCE(fence_done_) == dead.serial())
			return true;
		if (carrier && !s.ok())
			drop_carrier(carrier);
	}
}

// The serial of the path that carries the fence now; 0 if none does, with the reason.
u32 Session::send_fence(const Path &dead, Error &error)
{
	const RcuReader reader;
	for (Path &path : paths_) {
		if (&path == &dead || !path.connected() || !path.fences())
			continue;
		const Status s = path.post_fence(dead.serial());
		if (s.ok())
			return path.serial();
		error = s.error();
		if (!(error == err::eagain))
			path.fail(error, PathError::Post);
	}
	return 0;
}

bool Session::carries(u32 serial)
{
	const RcuReader reader;
	for (Path &path : paths_)
		if (path.connected() && path.serial() == serial)
			return true;
	return false;
}

void Session::drop_carrier(u32 serial)
{
	const RcuReader reader;
	for (Path &path : paths_) {
		if (!path.connected() || path.serial() != serial)
			continue;
		log_error(path.log_name(), "the server does not end a dead path within %u s",
			  kFenceTimeoutMs / 1000);
		path.fail(err::etimedout, PathError::Timeout);
	}
}

void Session::on_fence_done(u32 serial)
{
	WRITE_ONCE(fence_done_, serial);
	fence_changed_.wake_all();
}

// Under links_lock_. A path that comes up in a new session of the server, which was started anew,
// is the first to know that the old one is gone, and with it everything that the user has at the
// server. The other paths are dead, though nobody has noticed: they have to go first, so that the
// user hears of a loss and an end of it.
bool Session::server_lost_us(const Path &path)
{
	bool lost = false;
	const RcuReader reader;
	for (Path &other : paths_) {
		if (&other == &path || !other.fences() || other.instance() == path.instance())
			continue;
		if (other.connected()) {
			log_info(other.log_name(), "the server has lost the session of this path");
			other.fail(err::econnreset, PathError::Disconnected);
		}
		// Or on its way down, but not counted so yet.
		lost = paths_up_ != 0;
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
