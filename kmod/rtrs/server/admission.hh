// SPDX-License-Identifier: GPL-2.0
// What clients hold of the server, counted path by path and measured by rtrs/pure/quota.hh.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <rtrs/pure/quota.hh>
#include <rtrs/wire/units.hh>

namespace rtrs::server {

// What one path counts for; lives in the path, and is in from before it has anything until it has
// nothing of its device left.
struct Admitted {
	cxxrt::ListNode node;
	sockaddr_storage peer;
	u32 connections;       // announced
	bool half_open = true; // under the admission's lock, like the node
};

class Admission {
public:
	// Enters `entry`, whose peer and connections are set. EUSERS over a limit of the
	// administrator, EBUSY over another one; the log has its name. May sleep.
	Status enter(Admitted &entry);
	// The handshake is over, one way or the other. May sleep.
	void handshake_over(Admitted &entry);
	// No-op if it is not in. May sleep.
	void leave(Admitted &entry);

private:
	cxxrt::Guarded<cxxrt::List<Admitted, &Admitted::node>, cxxrt::Mutex> entries_{
	    cxxrt::lock_class<"rtrs_admission">()};
};

// The error for a limit that is reached, which is logged. No error for Quota::Fits.
Status refuse_over(Quota quota);

} // namespace rtrs::server
