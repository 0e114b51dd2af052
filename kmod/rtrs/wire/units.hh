// SPDX-License-Identifier: GPL-2.0
// Numbers of the RTRS protocol that are easily swapped, as types of their own. Pure.
//
// Each is one integer in a struct: Slot{3}, ByteCount{4096}. No conversion is implicit.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/endian.hh>
#include <cxxrt/result.hh>
#include <cxxrt/types.hh>

namespace rtrs {

using cxxrt::s16;
using cxxrt::s32;
using cxxrt::s64;
using cxxrt::u16;
using cxxrt::u32;
using cxxrt::u64;
using cxxrt::u8;
using cxxrt::usize;

using cxxrt::Le16;
using cxxrt::Le32;
using cxxrt::Le64;

using cxxrt::ByteView;
using cxxrt::Error;
using cxxrt::Result;
using cxxrt::Status;
using cxxrt::TextView;
namespace err = cxxrt::err;

// Chunk index = permit = request slot on every path = id in the response (protocol B.4).
struct Slot {
	u32 value;
	constexpr bool operator==(const Slot &) const = default;
};

// Position inside one chunk, in bytes.
struct ChunkOffset {
	u32 value;
	constexpr bool operator==(const ChunkOffset &) const = default;
};

struct ByteCount {
	u32 value;
	constexpr bool operator==(const ByteCount &) const = default;
};

// Number of slots of a session.
struct QueueDepth {
	u32 value;
	constexpr bool operator==(const QueueDepth &) const = default;
	constexpr bool contains(Slot s) const { return s.value < value; }
};

struct Rkey {
	u32 value;
	constexpr bool operator==(const Rkey &) const = default;
};

struct RemoteAddress {
	u64 value;
	constexpr bool operator==(const RemoteAddress &) const = default;
};

// Index of a connection inside its path; 0 is the service connection.
struct ConnectionId {
	u16 value;
	constexpr bool operator==(const ConnectionId &) const = default;
	constexpr bool is_service() const { return value == 0; }
};

// Opaque identity of a path or a session: 16 bytes in RFC 4122 order.
struct Uuid {
	u8 bytes[16];
	constexpr bool operator==(const Uuid &) const = default;
	constexpr bool is_zero() const { return *this == Uuid{}; }
};
static_assert(sizeof(Uuid) == 16);

// As seen from the client: Read moves data to it, Write moves data to the server.
enum class Direction : u8 {
	Read,
	Write,
};

// Memory of the peer.
struct RemoteBuffer {
	RemoteAddress address;
	Rkey rkey;
	ByteCount size;
	constexpr bool operator==(const RemoteBuffer &) const = default;
};

// Bits that number `count` things: ceil(log2 count), 0 for count <= 1 (protocol A.4).
constexpr u32 bits_for(u32 count)
{
	u32 bits = 0;
	while (bits < 32 && (u64{1} << bits) < count)
		bits++;
	return bits;
}

} // namespace rtrs
