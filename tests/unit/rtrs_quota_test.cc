// SPDX-License-Identifier: GPL-2.0
// Limits of what clients hold of a server (protocol G.2, G.3-9).
#include <rtrs/pure/quota.hh>

using namespace rtrs;

namespace {

constexpr PathLimits kNoPathLimits{};

PathLoad finished(u32 paths, u32 connections)
{
	const PathCount count{paths, connections};
	return {.all = count, .of_host = count, .half_open = {}, .half_open_of_host = {}};
}

SessionLoad sessions(u32 count)
{
	return {.sessions = count,
		.of_host = count,
		.half_open = 0,
		.half_open_of_host = 0,
		.bytes_per_session = 64 << 20,
		.memory = u64{4} << 30};
}

} // namespace

TEST(PathQuota, HasNoLimitWhereNoneIsSet)
{
	EXPECT_EQ(check_path_quota(finished(0xffffffff, 0xffffffff), 1025, kNoPathLimits),
		  Quota::Fits);
}

TEST(PathQuota, TakesExactlyTheLimit)
{
	const PathLimits limits{
	    .paths = 8, .paths_per_host = 4, .connections = 40, .connections_per_host = 30};
	EXPECT_EQ(check_path_quota(
		      {.all = {7, 0}, .of_host = {3, 0}, .half_open = {}, .half_open_of_host = {}},
		      1, limits),
		  Quota::Fits);
	EXPECT_EQ(check_path_quota(
		      {.all = {8, 0}, .of_host = {3, 0}, .half_open = {}, .half_open_of_host = {}},
		      1, limits),
		  Quota::Paths);
	EXPECT_EQ(check_path_quota(
		      {.all = {7, 0}, .of_host = {4, 0}, .half_open = {}, .half_open_of_host = {}},
		      1, limits),
		  Quota::PathsPerHost);
	EXPECT_EQ(
	    check_path_quota(
		{.all = {1, 35}, .of_host = {1, 20}, .half_open = {}, .half_open_of_host = {}}, 5,
		limits),
	    Quota::Fits);
	EXPECT_EQ(
	    check_path_quota(
		{.all = {1, 36}, .of_host = {1, 20}, .half_open = {}, .half_open_of_host = {}}, 5,
		limits),
	    Quota::Connections);
	EXPECT_EQ(
	    check_path_quota(
		{.all = {1, 30}, .of_host = {1, 26}, .half_open = {}, .half_open_of_host = {}}, 5,
		limits),
	    Quota::ConnectionsPerHost);
}

TEST(PathQuota, IsReachedWhenALimitFallsBelowWhatIsThere)
{
	const PathLimits limits{
	    .paths = 0, .paths_per_host = 0, .connections = 10, .connections_per_host = 0};
	EXPECT_EQ(check_path_quota(finished(9, 0xfffffff0), 1, limits), Quota::Connections);
}

TEST(PathQuota, BoundsHandshakesWhateverTheAdministratorAllows)
{
	PathLoad load = finished(500, 5000);
	load.half_open_of_host = {kHalfOpenPathsPerHost, 64};
	load.half_open = load.half_open_of_host;
	EXPECT_EQ(check_path_quota(load, 1, kNoPathLimits), Quota::HalfOpen);
	load.half_open_of_host = {1, kHalfOpenConnectionsPerHost - 4};
	EXPECT_EQ(check_path_quota(load, 4, kNoPathLimits), Quota::Fits);
	EXPECT_EQ(check_path_quota(load, 5, kNoPathLimits), Quota::HalfOpen);
	load.half_open_of_host = {};
	load.half_open = {kHalfOpenPaths, 0};
	EXPECT_EQ(check_path_quota(load, 1, kNoPathLimits), Quota::HalfOpen);
	load.half_open = {1, kHalfOpenConnections};
	EXPECT_EQ(check_path_quota(load, 1, kNoPathLimits), Quota::HalfOpen);
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
	const SessionLimits limits{
	    .sessions = 0, .sessions_per_host = 0, .pinned_bytes = 130 << 20};
	EXPECT_EQ(check_session_quota(sessions(1), limits), Quota::Fits);
	EXPECT_EQ(check_session_quota(sessions(2), limits), Quota::PinnedMemory);
}

TEST(SessionQuota, LetsHalfOpenOnesPinAQuarter)
{
	SessionLoad load = sessions(20);
	load.half_open = 15;
	EXPECT_EQ(check_session_quota(load, {}), Quota::Fits);
	load.half_open = 16;
	EXPECT_EQ(check_session_quota(load, {}), Quota::HalfOpen);
	load.half_open = kHalfOpenSessionsPerHost;
	load.half_open_of_host = kHalfOpenSessionsPerHost;
	load.bytes_per_session = 1;
	EXPECT_EQ(check_session_quota(load, {}), Quota::HalfOpen);
	// Two always, on however small a machine.
	load = sessions(1);
	load.half_open = 1;
	load.memory = 200 << 20;
	EXPECT_EQ(check_session_quota(load, {}), Quota::Fits);
}

TEST(Quota, IsNamedByTheParameterToRaise)
{
	EXPECT_STREQ(to_text(Quota::PathsPerHost), "max_paths_per_host");
	EXPECT_STREQ(to_text(Quota::PinnedMemory), "max_pinned_mb");
}
