// SPDX-License-Identifier: GPL-2.0
// Limits of what clients hold of a server (protocol G.2, G.3-9).
#include <rtrs/pure/quota.hh>

using namespace rtrs;

namespace {

constexpr PathLimits kNoPathLimits{};

PathLoad finished(u32 paths, u32 connections)
{
	const PathCount count{paths, connections};
	return {.all = count,
		.of_host = count,
		.strangers = {},
		.half_open = {},
		.half_open_of_host = {}};
}

PathLoad load_of(PathCount all, PathCount of_host)
{
	return {.all = all,
		.of_host = of_host,
		.strangers = {},
		.half_open = {},
		.half_open_of_host = {}};
}

PathClaim path_of(u32 connections)
{
	return {.paths = 1, .connections = connections};
}

SessionLoad sessions(u32 count)
{
	return {.sessions = count,
		.of_host = count,
		.ended = 0,
		.ended_of_host = 0,
		.half_open_of_host = 0,
		.bytes_per_session = 64 << 20,
		.memory = u64{4} << 30};
}

} // namespace

TEST(PathQuota, HasNoLimitWhereNoneIsSet)
{
	EXPECT_EQ(check_path_quota(finished(0xffffffff, 0xffffffff), path_of(1025), kNoPathLimits),
		  Quota::Fits);
}

TEST(PathQuota, TakesExactlyTheLimit)
{
	const PathLimits limits{
	    .paths = 8, .paths_per_host = 4, .connections = 40, .connections_per_host = 30};
	EXPECT_EQ(check_path_quota(load_of({7, 0}, {3, 0}), path_of(1), limits), Quota::Fits);
	EXPECT_EQ(check_path_quota(load_of({8, 0}, {3, 0}), path_of(1), limits), Quota::Paths);
	EXPECT_EQ(check_path_quota(load_of({7, 0}, {4, 0}), path_of(1), limits),
		  Quota::PathsPerHost);
	EXPECT_EQ(check_path_quota(load_of({1, 35}, {1, 20}), path_of(5), limits), Quota::Fits);
	EXPECT_EQ(check_path_quota(load_of({1, 36}, {1, 20}), path_of(5), limits),
		  Quota::Connections);
	EXPECT_EQ(check_path_quota(load_of({1, 30}, {1, 26}), path_of(5), limits),
		  Quota::ConnectionsPerHost);
	// Of several, as many as are left.
	EXPECT_EQ(check_path_quota(load_of({6, 0}, {0, 0}), {.paths = 2, .connections = 0}, limits),
		  Quota::Fits);
	EXPECT_EQ(check_path_quota(load_of({6, 0}, {0, 0}), {.paths = 3, .connections = 0}, limits),
		  Quota::Paths);
}

// On a server that has keys, an eighth is for who has proven one.
TEST(PathQuota, StrangersLeaveRoomWhereThereAreKeys)
{
	const PathLimits limits{
	    .paths = 16, .paths_per_host = 0, .connections = 80, .connections_per_host = 0};
	const PathClaim stranger{.paths = 1, .connections = 1, .apart = true};
	PathLoad load = load_of({13, 60}, {});
	load.strangers = {13, 60};
	EXPECT_EQ(check_path_quota(load, stranger, limits), Quota::Fits);
	load.all = load.strangers = {14, 60};
	EXPECT_EQ(check_path_quota(load, stranger, limits), Quota::Paths);
	EXPECT_EQ(check_path_quota(load, path_of(1), limits), Quota::Fits);
	load.all = load.strangers = {1, 69};
	EXPECT_EQ(check_path_quota(load, stranger, limits), Quota::Fits);
	load.all = load.strangers = {1, 70};
	EXPECT_EQ(check_path_quota(load, stranger, limits), Quota::Connections);
	EXPECT_EQ(check_path_quota(load, path_of(1), limits), Quota::Fits);
	// What others have is not theirs, but there it is.
	load.strangers = {};
	EXPECT_EQ(check_path_quota(load, stranger, limits), Quota::Fits);
	load.all = {16, 70};
	EXPECT_EQ(check_path_quota(load, stranger, limits), Quota::Paths);
	EXPECT_EQ(check_path_quota(load, stranger, {}), Quota::Fits);
}

TEST(PathQuota, IsReachedWhenALimitFallsBelowWhatIsThere)
{
	const PathLimits limits{
	    .paths = 0, .paths_per_host = 0, .connections = 10, .connections_per_host = 0};
	EXPECT_EQ(check_path_quota(finished(9, 0xfffffff0), path_of(1), limits),
		  Quota::Connections);
}

// Connections, in the order in which paths come, of clients that all come at once.
TEST(PathQuota, LetsEverybodyInAfterARestart)
{
	const PathLimits usual{.paths = 4096,
			       .paths_per_host = 1024,
			       .connections = 131072,
			       .connections_per_host = 65536};
	struct Client {
		u32 paths, connections;
		PathLimits limits;
	};
	const Client clients[] = {
	    {128, 9, usual},
	    {64, 257, usual},
	    {63, kMaxPathConnections, usual}, // as many as a host may have
	    {kMaxPaths, kMaxPathConnections, kNoPathLimits},
	    {kMaxPaths,
	     kMaxPathConnections,
	     {.paths = 0,
	      .paths_per_host = 0,
	      .connections = 600000,
	      .connections_per_host = 140000}},
	};
	for (const Client &c : clients) {
		PathLoad load{};
		for (u32 i = 0; i < c.paths; i++) {
			ASSERT_EQ(check_path_quota(load, path_of(c.connections), c.limits),
				  Quota::Fits)
			    << i;
			load.half_open.add(c.connections);
			load.half_open_of_host = load.of_host = load.all = load.half_open;
		}
	}
}

TEST(PathQuota, LeavesRoomBesideHandshakesThatNobodyFinishes)
{
	const PathLimits limits{.paths = 4096,
				.paths_per_host = 1024,
				.connections = 131072,
				.connections_per_host = 65536};
	PathLoad load{};
	load.half_open = load.all = {10, 65536};
	EXPECT_EQ(check_path_quota(load, path_of(1), limits), Quota::HalfOpen);
	load.half_open = load.all = {2048, 2048};
	EXPECT_EQ(check_path_quota(load, path_of(1), limits), Quota::HalfOpen);
	// Who has finished may have the rest.
	load.half_open = {};
	EXPECT_EQ(check_path_quota(load, path_of(1), limits), Quota::Fits);
	// Narrow limits are told by their names.
	load.half_open = load.all = {1, 3};
	EXPECT_EQ(
	    check_path_quota(
		load, path_of(3),
		{.paths = 0, .paths_per_host = 0, .connections = 3, .connections_per_host = 0}),
	    Quota::Connections);
}

TEST(PathQuota, BoundsHandshakesWhateverTheAdministratorAllows)
{
	PathLoad load = finished(500, 5000);
	load.half_open_of_host = {kHalfOpenPathsPerHost, 64};
	load.half_open = load.half_open_of_host;
	EXPECT_EQ(check_path_quota(load, path_of(1), kNoPathLimits), Quota::HalfOpenOfHost);
	load.half_open_of_host = {1, kHalfOpenConnectionsPerHost - 4};
	EXPECT_EQ(check_path_quota(load, path_of(4), kNoPathLimits), Quota::Fits);
	EXPECT_EQ(check_path_quota(load, path_of(5), kNoPathLimits), Quota::HalfOpenOfHost);
	load.half_open_of_host = {};
	load.half_open = {kHalfOpenPaths, 0};
	EXPECT_EQ(check_path_quota(load, path_of(1), kNoPathLimits), Quota::HalfOpen);
	load.half_open = {1, kHalfOpenConnections};
	EXPECT_EQ(check_path_quota(load, path_of(1), kNoPathLimits), Quota::HalfOpen);
}

// A further connection of a path that is there needs no room for a path.
TEST(PathQuota, ConnectionsAreTakenOneByOne)
{
	const PathLimits limits{
	    .paths = 1, .paths_per_host = 1, .connections = 10, .connections_per_host = 0};
	EXPECT_EQ(check_path_quota(finished(1, 9), path_of(1), limits), Quota::Paths);
	EXPECT_EQ(check_path_quota(finished(1, 9), {.paths = 0, .connections = 1}, limits),
		  Quota::Fits);
	// Nor where there are too many.
	EXPECT_EQ(check_path_quota(finished(2, 9), {.paths = 0, .connections = 1}, limits),
		  Quota::Fits);
	EXPECT_EQ(check_path_quota(finished(1, 10), {.paths = 0, .connections = 1}, limits),
		  Quota::Connections);
}

TEST(SessionQuota, TakesExactlyTheLimit)
{
	const SessionLimits limits{.sessions = 10, .sessions_per_host = 4, .pinned_bytes = 0};
	SessionLoad load = sessions(9);
	load.of_host = 3;
	EXPECT_EQ(check_session_quota(load, limits), Quota::Fits);
	load.of_host = 4;
	EXPECT_EQ(check_session_quota(load, limits), Quota::SessionsPerHost);
	load.sessions = 10;
	EXPECT_EQ(check_session_quota(load, limits), Quota::Sessions);
}

TEST(SessionQuota, BoundsPinnedMemory)
{
	// 48 of 64 MiB each are three quarters of 4 GiB.
	EXPECT_EQ(check_session_quota(sessions(47), {}), Quota::Fits);
	EXPECT_EQ(check_session_quota(sessions(48), {}), Quota::PinnedMemory);
	// What a disk still holds counts as memory, but keeps nobody's place.
	SessionLoad held = sessions(1);
	held.ended = 46;
	const SessionLimits two{.sessions = 2, .sessions_per_host = 2, .pinned_bytes = 0};
	EXPECT_EQ(check_session_quota(held, two), Quota::Fits);
	held.ended = 47;
	EXPECT_EQ(check_session_quota(held, two), Quota::PinnedMemory);
	// Of one host no more than a quarter.
	SessionLoad own = sessions(1);
	own.ended = own.ended_of_host = 15;
	EXPECT_EQ(check_session_quota(own, {}), Quota::Fits);
	own.ended = own.ended_of_host = 16;
	EXPECT_EQ(check_session_quota(own, {}), Quota::PinnedMemory);
	own.bytes_per_session = u64{1} << 30;
	own.ended = own.ended_of_host = 1;
	EXPECT_EQ(check_session_quota(own, {}), Quota::Fits);
	own.ended = own.ended_of_host = 2;
	EXPECT_EQ(check_session_quota(own, {}), Quota::PinnedMemory);
	const SessionLimits limits{
	    .sessions = 0, .sessions_per_host = 0, .pinned_bytes = 130 << 20};
	EXPECT_EQ(check_session_quota(sessions(1), limits), Quota::Fits);
	EXPECT_EQ(check_session_quota(sessions(2), limits), Quota::PinnedMemory);
}

TEST(SessionQuota, BoundsThoseThatBegin)
{
	SessionLoad load = sessions(1);
	load.half_open_of_host = kHalfOpenSessionsPerHost - 1;
	EXPECT_EQ(check_session_quota(load, {}), Quota::Fits);
	load.half_open_of_host = kHalfOpenSessionsPerHost;
	EXPECT_EQ(check_session_quota(load, {}), Quota::HalfOpenOfHost);
}

TEST(WaitingRequests, OfOneHostAreAsManyAsAPathHas)
{
	WaitingRequests waiting;
	EXPECT_TRUE(may_wait(waiting, true));
	waiting.of_host = kMaxPathConnections - 1;
	EXPECT_TRUE(may_wait(waiting, false));
	waiting.of_host = kMaxPathConnections;
	EXPECT_FALSE(may_wait(waiting, true));
	EXPECT_FALSE(may_wait(waiting, false));
}

TEST(WaitingRequests, OfStrangersLeaveRoomForOthers)
{
	WaitingRequests waiting{.all = kWaitingRequestsOfStrangers,
				.strangers = kWaitingRequestsOfStrangers};
	EXPECT_FALSE(may_wait(waiting, true));
	EXPECT_TRUE(may_wait(waiting, false));
	waiting.strangers = 0;
	EXPECT_TRUE(may_wait(waiting, true));
	waiting.all = kWaitingRequests;
	EXPECT_FALSE(may_wait(waiting, false));
}

// However many hosts send more than is served, in turns, another one finds a place.
TEST(WaitingRequests, OfStrangersWhoFillTheirPlacesLeaveOnes)
{
	for (const u32 hosts : {1u, 2u, 10u, 200u}) {
		WaitingRequests waiting;
		u32 of_host[200] = {};
		for (bool taken = true; taken;) {
			taken = false;
			for (u32 i = 0; i < hosts; i++) {
				waiting.of_host = of_host[i];
				if (!may_wait(waiting, true))
					continue;
				of_host[i]++;
				waiting.all++;
				waiting.strangers++;
				taken = true;
			}
		}
		EXPECT_GT(of_host[0], 0u) << hosts;
		waiting.of_host = 0;
		EXPECT_TRUE(may_wait(waiting, true)) << hosts;
		EXPECT_GT(waiting.strangers, kWaitingRequestsOfStrangers / 3) << hosts;
	}
}

TEST(Quota, IsNamedByTheParameterToRaise)
{
	EXPECT_STREQ(to_text(Quota::PathsPerHost), "max_paths_per_host");
	EXPECT_STREQ(to_text(Quota::PinnedMemory), "max_pinned_mb");
	EXPECT_STREQ(to_text(Quota::Memory), "max_memory_mb");
	EXPECT_STREQ(to_text(Quota::MemoryPerHost), "max_memory_per_host_mb");
}
