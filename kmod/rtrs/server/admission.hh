// SPDX-License-Identifier: GPL-2.0
// Limits on what clients hold before they have finished the handshake (protocol G.2, G.3-9).
//
// A connection request costs the server queue pairs, regions, and for a new session all of its
// chunks, and comes from anybody who can reach the port. Paths count from their first request until
// they are CONNECTED or closed, which the handshake timer bounds to 30 s.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <rtrs/wire/units.hh>

namespace rtrs::server {

// Connections of one path. Machines with more CPUs and poll queues than this do not exist yet.
constexpr u32 kMaxPathConnections = 1025;

constexpr u32 kHalfOpenPaths = 256;
constexpr u32 kHalfOpenPathsPerPeer = 64;
constexpr u32 kHalfOpenConnections = 16384;
constexpr u32 kHalfOpenConnectionsPerPeer = 4096;

// The entry of one half-open path; lives in the path.
struct HalfOpen {
	cxxrt::ListNode node;
	sockaddr_storage peer;
	u32 connections; // announced
};

class Admission {
public:
	// Enters `entry`, whose peer and connections are set. EBUSY over a limit. May sleep.
	Status enter(HalfOpen &entry);
	// No-op if it is not in. May sleep.
	void leave(HalfOpen &entry);

private:
	cxxrt::Guarded<cxxrt::List<HalfOpen, &HalfOpen::node>, cxxrt::Mutex> entries_{
	    cxxrt::lock_class<"rtrs_admission">()};
};

// What sessions hold, for check_session_quota().
struct SessionLoad {
	u32 sessions;	       // all
	u32 half_open;	       // no path of theirs was CONNECTED yet
	u32 half_open_of_peer; // of these, begun by the same host
	u64 bytes_per_session; //
};

// Whether one more session may be made. EBUSY.
Status check_session_quota(const SessionLoad &load);

} // namespace rtrs::server
