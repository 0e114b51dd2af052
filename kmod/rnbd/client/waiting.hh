// SPDX-License-Identifier: GPL-2.0
// Requests that wait for a path (no_path_timeout).
//
// They stay with the driver, started, so that their age shows and the block layer's timer speaks of
// them. They go on in the order in which they came when the device is back, and fail when the time
// is over or the device is unmapped; nothing else ends the wait, so each of these calls is made.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/work.hh>
#include <rnbd/client/io.hh>
#include <rnbd/pure/no_path.hh>

namespace rnbd::client {

class Device;

class WaitingRequests {
public:
	explicit WaitingRequests(Device &device);

	// The device was lost, is back, is unmapped (for good). Any context.
	void lose();
	void restore();
	void end();
	// The server has closed the device: nothing waits for it.
	void reject();
	// After end(), before the owner dies. Sleeps.
	void stop_timer() { expire_.cancel_sync(); }

	int timeout() const { return READ_ONCE(timeout_); }
	void set_timeout(int seconds);

	// No path took it, or the one that had it has ended.
	enum class Cause : u8 { Refused, Lost };
	// For a request that was started and met no path. Wait: it is kept, and the caller does not
	// touch it any more. Any context.
	NoPathRule::Verdict admit(request *rq, Cause cause);
	// The same of something that is no request and waits by itself. Any context.
	NoPathRule::Verdict judge(u64 missed_ns);
	u32 count();

private:
	using Requests = cxxrt::List<IoRequest, &IoRequest::waiting_node>;
	struct Room {
		NoPathRule rule;
		Requests requests;
		u32 count = 0;
	};

	void expire();
	void fail_if_over(Room &room, Requests &failed);
	void fail_all(Requests &failed);

	Device &device_;
	int timeout_ = 0; // that of the rule, for readers
	cxxrt::Guarded<Room, cxxrt::SpinLock> room_;
	cxxrt::DelayedWork<WaitingRequests, &WaitingRequests::expire> expire_{this};
};

} // namespace rnbd::client
