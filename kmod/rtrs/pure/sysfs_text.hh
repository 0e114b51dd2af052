// SPDX-License-Identifier: GPL-2.0
// Input of the attributes that several RTRS objects have (protocol F.1, F.2). Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

constexpr int kMaxReconnectAttempts = 9999;
constexpr int kReconnectForever = -1;

// Seconds that a request waits for the server before its path is given up.
constexpr int kDefaultRequestTimeout = 60;
constexpr int kMaxRequestTimeout = 3600;
constexpr int kNoRequestTimeout = 0;

// Milliseconds between heartbeats, and how many of these may pass without a word of the peer.
constexpr int kMinHeartbeatIntervalMs = 100;
constexpr int kMaxHeartbeatIntervalMs = 60'000;
constexpr int kMinHeartbeatMissed = 1;
constexpr int kMaxHeartbeatMissed = 100;
// The longest pause before a lost path tries to connect again.
constexpr int kMinReconnectDelay = 1;
constexpr int kMaxReconnectDelay = 3600;
// The byte in the head of IP packets by which switches tell traffic classes; for InfiniBand the
// subnet's manager makes a service level of it.
constexpr int kDefaultTypeOfService = -1;
constexpr int kMaxTypeOfService = 255;
// Of a path, those that carry I/O and interrupt.
constexpr int kMaxIoConnections = static_cast<int>(kMaxPathConnections) - 1;

// Requests that a session has under way: with fewer than the least, messages and I/O would wait for
// each other.
constexpr int kMinQueueDepth = 8;
constexpr int kMaxToldQueueDepth = static_cast<int>(kMaxQueueDepth);

// Statistics are cleared by "0" (documented) and by "1" (in-tree). EINVAL.
constexpr Status parse_reset(TextView t)
{
	t = cxxrt::trim_newline(t);
	if (t == TextView("0") || t == TextView("1"))
		return {};
	return err::einval;
}

// -1 to 9999. EINVAL, ERANGE.
constexpr Result<int> parse_reconnect_attempts(TextView t)
{
	return cxxrt::parse_int(t, kReconnectForever, kMaxReconnectAttempts);
}

// 0 to 3600 seconds. EINVAL, ERANGE.
constexpr Result<int> parse_request_timeout(TextView t)
{
	return cxxrt::parse_int(t, kNoRequestTimeout, kMaxRequestTimeout);
}

// 100 to 60000 ms. EINVAL, ERANGE.
constexpr Result<int> parse_heartbeat_interval(TextView t)
{
	return cxxrt::parse_int(t, kMinHeartbeatIntervalMs, kMaxHeartbeatIntervalMs);
}

// 1 to 100 intervals. EINVAL, ERANGE.
constexpr Result<int> parse_heartbeat_missed(TextView t)
{
	return cxxrt::parse_int(t, kMinHeartbeatMissed, kMaxHeartbeatMissed);
}

// 0, which is one for each CPU, to 1024. EINVAL, ERANGE.
constexpr Result<int> parse_connections(TextView t)
{
	return cxxrt::parse_int(t, 0, kMaxIoConnections);
}

// 1 to 3600 seconds. EINVAL, ERANGE.
constexpr Result<int> parse_reconnect_delay(TextView t)
{
	return cxxrt::parse_int(t, kMinReconnectDelay, kMaxReconnectDelay);
}

// -1, which leaves it to the connection manager, or a byte. EINVAL, ERANGE.
constexpr Result<int> parse_tos(TextView t)
{
	return cxxrt::parse_int(t, kDefaultTypeOfService, kMaxTypeOfService);
}

// 0, which is as many as the server takes, or 8 to 65535. EINVAL, ERANGE.
constexpr Result<int> parse_queue_depth(TextView t)
{
	const int depth = TRY(cxxrt::parse_int(t, 0, kMaxToldQueueDepth));
	if (depth && depth < kMinQueueDepth)
		return err::einval;
	return depth;
}

} // namespace rtrs
