// SPDX-License-Identifier: GPL-2.0
// Counting half-open paths and sessions.
#include <rtrs/server/addresses.hh>
#include <rtrs/server/admission.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// Sessions of one host that are half-open at a time. Each client host has few sessions, and a
// refused one tries again.
constexpr u32 kHalfOpenSessionsPerPeer = 16;
// However little memory there is, so many may be half-open.
constexpr u32 kHalfOpenSessionsAlways = 2;

} // namespace

Status Admission::enter(HalfOpen &entry)
{
	return entries_.with([&](auto &entries) -> Status {
		u32 paths = 0, connections = 0, paths_of_peer = 0, connections_of_peer = 0;
		for (const HalfOpen &e : entries) {
			paths++;
			connections += e.connections;
			if (same_host(e.peer, entry.peer)) {
				paths_of_peer++;
				connections_of_peer += e.connections;
			}
		}
		if (paths >= kHalfOpenPaths || paths_of_peer >= kHalfOpenPathsPerPeer)
			return err::ebusy;
		if (connections + entry.connections > kHalfOpenConnections ||
		    connections_of_peer + entry.connections > kHalfOpenConnectionsPerPeer)
			return err::ebusy;
		entries.push_back(entry);
		return {};
	});
}

void Admission::leave(HalfOpen &entry)
{
	entries_.with([&](auto &entries) {
		if (entry.node.linked())
			entries.remove(entry);
	});
}

// All sessions together may pin three quarters of the memory, half-open ones a quarter.
Status check_session_quota(const SessionLoad &load)
{
	const u64 memory = u64{totalram_pages()} << PAGE_SHIFT;
	if (load.half_open_of_peer >= kHalfOpenSessionsPerPeer)
		return err::ebusy;
	if (load.half_open >= kHalfOpenSessionsAlways &&
	    (load.half_open + 1) * load.bytes_per_session > memory / 4)
		return err::ebusy;
	if ((load.sessions + 1) * load.bytes_per_session > memory / 4 * 3)
		return err::enomem;
	return {};
}

} // namespace rtrs::server
