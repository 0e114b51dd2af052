// SPDX-License-Identifier: GPL-2.0
// What clients may hold of a server (protocol G.2, G.3-9): decisions about one path or session
// more.
//
// A connection request costs the server a queue pair, and comes from anybody who can reach the
// port. What is made is charged, and not what a request announces. Two sets of limits: the
// administrator's for everything; and, derived from these, limits for what is half-open: what no
// INFO_REQ that is believed has come for, which the handshake timer bounds to 30 s. After a restart
// of the server all clients come at once, each with all of its paths: so a host may connect all
// that it may have. Together, hosts may connect half of what all may have, so that there is room
// left beside handshakes that nobody finishes. Hosts that have proven themselves by a key have the
// same for themselves, which strangers cannot use up. Where no room is left, the half-open path
// that was silent for the longest time gives way, a second at least: a client takes its next step
// within that. It counts until it is gone, and who comes waits for that.
//
// Memory has its own limits (memory_budget.hh). Sessions take theirs when INFO_REQ has come.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// Of paths that are not CONNECTED yet. Where the administrator sets no limit: some clients with all
// the paths, or one with all the connections too, that a session can have.
constexpr u32 kHalfOpenPathsPerHost = 8 * kMaxPaths;
constexpr u32 kHalfOpenPaths = 2 * kHalfOpenPathsPerHost;
constexpr u32 kHalfOpenConnectionsPerHost = kMaxPaths * kMaxPathConnections;
constexpr u32 kHalfOpenConnections = 2 * kHalfOpenConnectionsPerHost;
// However narrow his limits are, which hold all the same: so these do not get in front of them.
constexpr u32 kHalfOpenPathsAlways = 256;
constexpr u32 kHalfOpenConnectionsAlways = 16384;
// How long a half-open path is silent before it may give way to another.
constexpr u64 kGivesWayAfterMs = 1000;
// How long a connection request waits for those that give way to be gone: queue pairs are drained
// and destroyed within, also where a path without a carrier sends its DREQ a second late.
constexpr u64 kRoomTimeoutMs = 3000;
// Connection requests that have come and that no work item has begun to work on: of one host as
// many as a path has connections; of strangers half of all, so that there is room for others; and
// of one of these no more than are left for the next, so that hosts which fill their own places
// leave some, however many they are. Each has an id of the connection manager and a copy of its
// message, less than 4 KiB. What comes beyond is dropped without an answer, and its sender repeats
// it.
constexpr u32 kWaitingRequests = 4096;
constexpr u32 kWaitingRequestsOfStrangers = kWaitingRequests / 2;
constexpr u32 kWaitingRequestsPerHost = kMaxPathConnections;
// Hosts of strangers whose requests are worked on at a time. Hosts that have proven themselves have
// work items of their own.
constexpr int kStrangersServedAtOnce = 64;
// Of sessions for which no INFO_REQ has come. Each client host has few sessions, and a refused one
// tries again.
constexpr u32 kHalfOpenSessionsPerHost = 16;
// However little memory there is, so many sessions of one host may have ended.
constexpr u32 kEndedSessionsAlways = 2;

// Of one session's paths that are gone but for requests that a disk still has, which count for
// nothing else: some with all the connections that one can have, or hundreds as clients have them.
constexpr u32 kDeadConnections = 16 * kMaxPathConnections;

// The administrator's limits; 0 is none.
struct PathLimits {
	u32 paths;
	u32 paths_per_host;
	u32 connections;
	u32 connections_per_host;
};

struct SessionLimits {
	u32 sessions;
	u32 sessions_per_host;
	u64 pinned_bytes; // by chunks; 0 is three quarters of the memory
};

namespace detail {
constexpr u32 half_open_limit(u32 limit, u32 always, u32 without)
{
	if (!limit)
		return without;
	return limit > always ? limit : always;
}
} // namespace detail

// What may be half-open.
constexpr PathLimits half_open_limits(const PathLimits &of_all)
{
	return {
	    .paths = detail::half_open_limit(of_all.paths / 2 + of_all.paths % 2,
					     kHalfOpenPathsAlways, kHalfOpenPaths),
	    .paths_per_host = detail::half_open_limit(of_all.paths_per_host, kHalfOpenPathsAlways,
						      kHalfOpenPathsPerHost),
	    .connections =
		detail::half_open_limit(of_all.connections / 2 + of_all.connections % 2,
					kHalfOpenConnectionsAlways, kHalfOpenConnections),
	    .connections_per_host =
		detail::half_open_limit(of_all.connections_per_host, kHalfOpenConnectionsAlways,
					kHalfOpenConnectionsPerHost),
	};
}

enum class Quota : u8 {
	Fits,
	HalfOpen,
	HalfOpenOfHost,
	Paths,
	PathsPerHost,
	Connections,
	ConnectionsPerHost,
	Sessions,
	SessionsPerHost,
	PinnedMemory,
	Memory,
	MemoryPerHost,
};

// For an administrator: the name of the module parameter to raise, where there is one.
constexpr const char *to_text(Quota q)
{
	switch (q) {
	case Quota::Fits:
		return "none";
	case Quota::HalfOpen:
		return "unfinished handshakes";
	case Quota::HalfOpenOfHost:
		return "unfinished handshakes of one address";
	case Quota::Paths:
		return "max_paths";
	case Quota::PathsPerHost:
		return "max_paths_per_host";
	case Quota::Connections:
		return "max_connections";
	case Quota::ConnectionsPerHost:
		return "max_connections_per_host";
	case Quota::Sessions:
		return "max_sessions";
	case Quota::SessionsPerHost:
		return "max_sessions_per_host";
	case Quota::PinnedMemory:
		return "max_pinned_mb";
	case Quota::Memory:
		return "max_memory_mb";
	case Quota::MemoryPerHost:
		return "max_memory_per_host_mb";
	}
	return "?";
}

// Whether it is a limit of one host: then only half-open paths of that one can make room.
constexpr bool is_of_host(Quota q)
{
	return q == Quota::HalfOpenOfHost || q == Quota::PathsPerHost ||
	       q == Quota::ConnectionsPerHost || q == Quota::MemoryPerHost;
}
// Whether it is one of half-open paths, of which one makes room at once by being half-open no more.
constexpr bool is_half_open(Quota q)
{
	return q == Quota::HalfOpen || q == Quota::HalfOpenOfHost;
}

// Paths and their connections, which are queue pairs, as far as they are made.
struct PathCount {
	u32 paths = 0;
	u32 connections = 0;

	constexpr void add(u32 of_path)
	{
		paths++;
		connections += of_path;
	}
	// Whether so many more fit below the limit; 0 is none.
	constexpr bool has_paths(u32 more, u32 limit) const
	{
		return !limit || (paths <= limit && more <= limit - paths);
	}
	constexpr bool has_connections(u32 more, u32 limit) const
	{
		return !limit || (connections <= limit && more <= limit - connections);
	}
};

// What is there; `half_open` is part of `all`, and of those only that stand as the one that asks
// does: strangers, or hosts that have proven themselves.
struct PathLoad {
	PathCount all;
	PathCount of_host;
	PathCount strangers;
	PathCount half_open;
	PathCount half_open_of_host;
};

// What asks for more: for a new path, which announces so many connections, or for connections of
// one that is there. `apart`: a stranger, on a server that knows others: an eighth of what all may
// have is left alone.
struct PathClaim {
	u32 paths;
	u32 connections;
	bool apart = false;
};

namespace detail {
constexpr u32 but_an_eighth(u32 limit)
{
	return limit - limit / 8;
}
} // namespace detail

constexpr Quota check_path_quota(const PathLoad &load, const PathClaim &claim,
				 const PathLimits &limits)
{
	const PathLimits half_open = half_open_limits(limits);
	const auto has = [&](const PathCount &count, u32 paths, u32 connections) {
		return (!claim.paths || count.has_paths(claim.paths, paths)) &&
		       count.has_connections(claim.connections, connections);
	};
	if (!has(load.half_open_of_host, half_open.paths_per_host, half_open.connections_per_host))
		return Quota::HalfOpenOfHost;
	if (!has(load.half_open, half_open.paths, half_open.connections))
		return Quota::HalfOpen;
	const auto is_over = [&](u32 paths, u32 connections) {
		return !has(load.all, paths, connections) ||
		       (claim.apart && !has(load.strangers, detail::but_an_eighth(paths),
					    detail::but_an_eighth(connections)));
	};
	if (is_over(limits.paths, 0))
		return Quota::Paths;
	if (!has(load.of_host, limits.paths_per_host, 0))
		return Quota::PathsPerHost;
	if (is_over(0, limits.connections))
		return Quota::Connections;
	if (!has(load.of_host, 0, limits.connections_per_host))
		return Quota::ConnectionsPerHost;
	return Quota::Fits;
}

struct WaitingRequests {
	u32 all = 0;
	u32 strangers = 0;
	u32 of_host = 0;
};

// Whether one more request may wait for its work item.
constexpr bool may_wait(const WaitingRequests &waiting, bool stranger)
{
	if (waiting.all >= kWaitingRequests || waiting.of_host >= kWaitingRequestsPerHost)
		return false;
	return !stranger || waiting.strangers + waiting.of_host < kWaitingRequestsOfStrangers;
}

struct SessionLoad {
	u32 sessions; // that have chunks, or are about to
	u32 of_host;  // begun by the same host
	u32 ended;    // beside these: they hold nothing but memory, until a disk has answered
	u32 ended_of_host;
	u32 half_open_of_host; // that have none, for one that has none either
	u64 bytes_per_session; // the same for all
	u64 memory;	       // of the machine
};

// Whether one more session may begin, or have chunks. Ended ones of one host may pin a quarter of
// the memory: one for each disk that hangs is the most that an honest one has.
constexpr Quota check_session_quota(const SessionLoad &load, const SessionLimits &limits)
{
	if (load.half_open_of_host >= kHalfOpenSessionsPerHost)
		return Quota::HalfOpenOfHost;
	if (limits.sessions && load.sessions >= limits.sessions)
		return Quota::Sessions;
	if (limits.sessions_per_host && load.of_host >= limits.sessions_per_host)
		return Quota::SessionsPerHost;
	if (load.ended_of_host >= kEndedSessionsAlways &&
	    (load.ended_of_host + u64{1}) * load.bytes_per_session > load.memory / 4)
		return Quota::PinnedMemory;
	const u64 pinned = limits.pinned_bytes ? limits.pinned_bytes : load.memory / 4 * 3;
	if ((u64{load.sessions} + load.ended + 1) * load.bytes_per_session > pinned)
		return Quota::PinnedMemory;
	return Quota::Fits;
}

} // namespace rtrs
