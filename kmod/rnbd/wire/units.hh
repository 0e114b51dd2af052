// SPDX-License-Identifier: GPL-2.0
// Numbers of the RNBD protocol that are easily swapped, as types of their own. Pure.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/endian.hh>
#include <cxxrt/result.hh>
#include <cxxrt/types.hh>

namespace rnbd {

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

// Handle of an open device, valid in one session.
struct DeviceId {
	u32 value;
	constexpr bool operator==(const DeviceId &) const = default;
};

// Position on or size of a device, in 512-byte units whatever its block size is.
struct Sectors {
	u64 value;
	constexpr bool operator==(const Sectors &) const = default;
};

constexpr u32 kSectorShift = 9;
constexpr u32 kSectorSize = 1u << kSectorShift;

// How the transport carried a message: as its own read (data goes to the client) or write, and how
// many bytes came with it or may be answered at most. Checked by the transport against the chunk
// and, for reads, against the client's descriptor.
struct Transfer {
	enum class Direction : u8 { Read, Write };
	Direction direction;
	u32 size;

	constexpr bool is_read() const { return direction == Direction::Read; }
};

} // namespace rnbd
