// SPDX-License-Identifier: GPL-2.0
// Numbers that both sides of RTRS agree on (protocol A.1). Pure.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

constexpr u16 kMagic = 0x1bbd;
constexpr u16 kProtocolMajor = 2;
constexpr u16 kProtocolMinor = 0;
constexpr u16 kProtocolVersion = kProtocolMajor << 8 | kProtocolMinor;

constexpr u32 kMaxPaths = 128;
constexpr u32 kMaxQueueDepth = 65535;
constexpr u32 kDefaultQueueDepth = 512;
constexpr u32 kDefaultChunkSize = 128 * 1024;
constexpr u32 kMinChunkSize = 8192;
constexpr u32 kMinConnections = 2;
constexpr u32 kMaxConnections = 4096;
// What a server of this project takes for one path, and what a client asks for at most.
constexpr u32 kMaxPathConnections = 1025;

constexpr u32 kClientMaxSegments = 128;
constexpr u32 kClientSegmentSize = 4096;

constexpr u32 kImmPayloadBits = 28;
constexpr u32 kResponseIdBits = 19;
constexpr u32 kResponseErrorBits = 9;
constexpr u32 kMaxResponseError = (1u << kResponseErrorBits) - 1;

constexpr u32 kHeartbeatIntervalMs = 5000;
constexpr u32 kHeartbeatMissedMax = 5;
// Between peers of which both know them (protocol J.4).
constexpr u32 kShortHeartbeatIntervalMs = 1000;
constexpr u32 kShortHeartbeatMissedMax = 4;
constexpr u32 kConnectTimeoutMs = 30000;
// How long a question for an address or a route waits for its answer before it is asked anew.
constexpr u32 kAskAgainMs = 1000;
constexpr u32 kReconnectPauseMs = 1000;
constexpr u32 kMaxSignalInterval = 512;
// Protocol J.1: how long a client waits for the end of a fence before it gives up the path that
// carries it.
constexpr u32 kFenceTimeoutMs = 30000;

constexpr u32 kCmRetryCount = 7;
constexpr u32 kRnrRetryCount = 7;
constexpr u32 kListenBacklog = 64;
constexpr u16 kDefaultPort = 1234;
// CM reason "consumer defined", the only one that carries private data of ours (protocol A.3).
constexpr int kCmRejectConsumerDefined = 28;

// Storage for a session name, terminator included (protocol A.4).
constexpr u32 kSessionNameSize = 255;

// The type field of everything that is sent or written into chunks (protocol A.4, A.5).
enum class MessageType : u16 {
	InfoRequest = 0,
	InfoResponse = 1,
	Write = 2,
	Read = 3,
	RkeyResponse = 4,
};

} // namespace rtrs
