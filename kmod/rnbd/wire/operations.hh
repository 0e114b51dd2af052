// SPDX-License-Identifier: GPL-2.0
// IO messages: operations, flags and their checks (protocol D.1, D.3, G.2). Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

enum class Operation : u8 {
	Read = 0,
	Write = 1,
	Flush = 2,
	Discard = 3,
	SecureErase = 4,
	WriteZeroes = 5,
};

constexpr u32 kOperations = 6;
constexpr u32 kOperationMask = 0xff;

namespace io_flag {
constexpr u32 sync = 1u << 8;
constexpr u32 fua = 1u << 9;
constexpr u32 preflush = 1u << 10;
constexpr u32 nounmap = 1u << 11;
} // namespace io_flag

// The transport's direction of a request. A flush is a read, for historical reasons.
constexpr Transfer::Direction direction_of(Operation op)
{
	return op == Operation::Read || op == Operation::Flush ? Transfer::Direction::Read
							       : Transfer::Direction::Write;
}

// Whether bi_size bytes travel with the request.
constexpr bool carries_data(Operation op)
{
	return op == Operation::Read || op == Operation::Write;
}

// Whether it changes what is stored; denied on read-only mappings.
constexpr bool changes_device(Operation op)
{
	return op != Operation::Read && op != Operation::Flush;
}

// Flags that mean something for `op`; others are dropped, as servers always did.
constexpr u32 flags_of(Operation op)
{
	switch (op) {
	case Operation::Read:
		return io_flag::sync;
	case Operation::Write:
		return io_flag::sync | io_flag::fua | io_flag::preflush;
	case Operation::WriteZeroes:
		return io_flag::sync | io_flag::nounmap;
	case Operation::Flush:
	case Operation::Discard:
	case Operation::SecureErase:
		return io_flag::sync;
	}
	return 0;
}

// I/O priority as the block layer encodes it: class in the upper 3 bits.
constexpr u32 kPriorityClassShift = 13;
constexpr u16 kPriorityNone = 0;

// A class that does not exist becomes "none"; the real-time class (1) becomes best effort (2) of
// the same level unless allowed, so that a client can't starve the server's own work.
constexpr u16 sanitize_priority(u16 prio, bool allow_realtime)
{
	u32 cls = prio >> kPriorityClassShift;
	// Best effort, which the block layer gives to who has asked for nothing, or idle.
	if (cls == 2 || cls == 3) [[likely]]
		return prio;
	u32 level = prio & ((1u << kPriorityClassShift) - 1);
	if (cls != 1)
		return kPriorityNone;
	return allow_realtime ? prio : static_cast<u16>(2u << kPriorityClassShift | level);
}

// An IO message as it came, with only its length and type checked: the device id is needed before
// the rest can be.
struct IoFields {
	DeviceId device;
	Sectors sector;
	u32 rw;
	u32 size;
	u16 priority; // 0 if not honoured
};

// Server side. `version` is what SESS_INFO agreed on; prio counts from version 2 on and only if the
// message holds it. EMSGSIZE, EINVAL for another type. On the way of each I/O: what is in a Result,
// or is copied as a whole, goes through memory.
[[gnu::always_inline]] inline Status parse_io(ByteView message, u8 version, IoFields &fields)
{
	if (message.size() < kIoSizeV1) [[unlikely]]
		return err::emsgsize;
	const u8 *m = message.data();
	if (!cxxrt::load<MessageHeader>(m).is(MessageType::Io)) [[unlikely]]
		return err::einval;
	const bool has_priority = version >= 2 && message.size() >= sizeof(Io);
	fields = {
	    .device = {cxxrt::load<Le32>(m + __builtin_offsetof(Io, device_id)).get()},
	    .sector = {cxxrt::load<Le64>(m + __builtin_offsetof(Io, sector)).get()},
	    .rw = cxxrt::load<Le32>(m + __builtin_offsetof(Io, rw)).get(),
	    .size = cxxrt::load<Le32>(m + __builtin_offsetof(Io, bi_size)).get(),
	    .priority = has_priority ? cxxrt::load<Le16>(m + __builtin_offsetof(Io, prio)).get()
				     : kPriorityNone,
	};
	return {};
}

inline Result<IoFields> parse_io(ByteView message, u8 version)
{
	IoFields fields;
	TRY(parse_io(message, version, fields));
	return fields;
}

// What the server knows of an open device and its mapping.
struct DeviceLimits {
	Sectors capacity;
	u32 logical_block_size; // bytes, power of two, >= 512
	bool read_only;		// mapping or device; of no interest unless changes_device()
	u32 max_io_bytes;	// data operations
	// As announced in OPEN_RSP; 0 if the operation is not supported.
	u32 max_discard_sectors;
	u32 max_secure_erase_sectors;
	u32 max_write_zeroes_sectors;

	// Of one request; not for a flush, which has no range.
	constexpr u64 sectors_of(Operation op) const
	{
		switch (op) {
		case Operation::Flush:
			break;
		case Operation::Read:
		case Operation::Write:
			return max_io_bytes >> kSectorShift;
		case Operation::Discard:
			return max_discard_sectors;
		case Operation::SecureErase:
			return max_secure_erase_sectors;
		case Operation::WriteZeroes:
			return max_write_zeroes_sectors;
		}
		return 0;
	}
};

// A request that is safe to submit: `bytes` lie on the device, in whole blocks.
struct CheckedIo {
	Operation operation;
	u32 flags; // io_flag, only those that flags_of() knows
	Sectors sector;
	u32 bytes; // 0 for a flush
	u16 priority;
};

// Server side, what is left of G.2 when the device was found. The answer is the error: EOPNOTSUPP
// for an operation that is unknown or that the device lacks, EROFS for a change of a read-only
// mapping, EIO for a range beyond the end (as the block layer would say), EINVAL for anything
// inconsistent. The priority passes through; see sanitize_priority().
[[gnu::always_inline]] constexpr Status check_io(const IoFields &io, Transfer transfer,
						 const DeviceLimits &device, CheckedIo &checked)
{
	const u32 code = io.rw & kOperationMask;
	if (code >= kOperations) [[unlikely]]
		return err::eopnotsupp;
	const Operation op = static_cast<Operation>(code);
	if (transfer.direction != direction_of(op)) [[unlikely]]
		return err::einval;
	if (transfer.size != (carries_data(op) ? io.size : 0)) [[unlikely]]
		return err::einval;
	if (changes_device(op) && device.read_only) [[unlikely]]
		return err::erofs;

	checked = {op, io.rw & flags_of(op), io.sector, io.size, io.priority};
	if (op == Operation::Flush) {
		checked.sector = {0};
		return io.size ? Status(err::einval) : Status();
	}
	const u64 limit = device.sectors_of(op);
	if (limit == 0) [[unlikely]]
		return err::eopnotsupp;
	// Whole blocks at one look: their size is a power of two.
	const u64 inside = device.logical_block_size - 1;
	if (io.size == 0 || ((io.sector.value << kSectorShift | io.size) & inside)) [[unlikely]]
		return err::einval;
	const u64 sectors = io.size >> kSectorShift;
	if (sectors > limit) [[unlikely]]
		return err::einval;
	if (sectors > device.capacity.value || io.sector.value > device.capacity.value - sectors)
	    [[unlikely]]
		return err::eio;
	return {};
}

constexpr Result<CheckedIo> check_io(const IoFields &io, Transfer transfer,
				     const DeviceLimits &device)
{
	CheckedIo checked{};
	TRY(check_io(io, transfer, device, checked));
	return checked;
}

// Client side. `flags` are io_flag; what does not belong to the operation is dropped.
constexpr Io make_io(DeviceId device, Operation op, u32 flags, Sectors sector, u32 bytes,
		     u16 priority)
{
	Io m{};
	m.header = MessageHeader::of(MessageType::Io);
	m.device_id = device.value;
	m.sector = sector.value;
	m.rw = static_cast<u32>(op) | (flags & flags_of(op));
	m.bi_size = bytes;
	m.prio = priority;
	return m;
}

} // namespace rnbd
