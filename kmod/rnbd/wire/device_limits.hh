// SPDX-License-Identifier: GPL-2.0
// DEVICE_LIMITS: how the device likes to be used; what the answer to OPEN has no room for (protocol
// D.5). Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/open_response.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

struct DeviceLimitsQuestion {
	MessageHeader header;
	Le32 device_id;
};
static_assert(sizeof(DeviceLimitsQuestion) == 8);

struct DeviceLimitsResponse {
	MessageHeader header;
	Le32 physical_block_size; // bytes
	Le32 io_min;		  // bytes
	Le32 io_opt;		  // bytes
	Le32 alignment_offset;	  // bytes, signed
	Le32 flags;
	u8 reserved[40];

	enum : u32 { kRotational = 1u << 0 };
};
static_assert(sizeof(DeviceLimitsResponse) == 64);
static_assert(__builtin_offsetof(DeviceLimitsResponse, physical_block_size) == 4);
static_assert(__builtin_offsetof(DeviceLimitsResponse, io_min) == 8);
static_assert(__builtin_offsetof(DeviceLimitsResponse, io_opt) == 12);
static_assert(__builtin_offsetof(DeviceLimitsResponse, alignment_offset) == 16);
static_assert(__builtin_offsetof(DeviceLimitsResponse, flags) == 20);
static_assert(__builtin_offsetof(DeviceLimitsResponse, reserved) == 24);

// How the block layer describes it to whoever lays out a file system.
struct DeviceTopology {
	u32 physical_block_size; // bytes
	u32 io_min;		 // bytes; less than that costs a read before
	u32 io_opt;		 // bytes; 0: no size is better than others
	s32 alignment_offset;	 // bytes; -1: its blocks do not fit its beginning
	bool rotational;
};

constexpr s32 kMisaligned = -1;

// Of a server that does not tell: no better than its largest request, as in-tree clients have it.
constexpr DeviceTopology unknown_topology(u32 physical_block_size, u32 max_io_size)
{
	return {.physical_block_size = physical_block_size,
		.io_min = physical_block_size,
		.io_opt = max_io_size,
		.alignment_offset = 0,
		.rotational = false};
}

constexpr DeviceLimitsQuestion make_device_limits(DeviceId id)
{
	return {MessageHeader::of(MessageType::DeviceLimits), id.value};
}

// Server side. EMSGSIZE, EINVAL for another type or a write.
inline Result<DeviceId> parse_device_limits(ByteView message, Transfer transfer)
{
	Result<DeviceLimitsQuestion> m = message.read<DeviceLimitsQuestion>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::DeviceLimits) || !transfer.is_read())
		return err::einval;
	if (transfer.size < sizeof(DeviceLimitsResponse))
		return err::emsgsize;
	return DeviceId{m->device_id.get()};
}

constexpr DeviceLimitsResponse make_device_limits_response(const DeviceTopology &t)
{
	DeviceLimitsResponse m{};
	m.header = MessageHeader::of(MessageType::DeviceLimitsResponse);
	m.physical_block_size = t.physical_block_size;
	m.io_min = t.io_min;
	m.io_opt = t.io_opt;
	m.alignment_offset = static_cast<u32>(t.alignment_offset);
	m.flags = t.rotational ? DeviceLimitsResponse::kRotational : 0u;
	return m;
}

// The largest size that is believed: more than any array has as a stripe.
constexpr u32 kMaxTopologySize = 1u << 30;

// Client side, of a device with blocks of that many bytes (a power of two). EMSGSIZE, EINVAL for
// another type. What makes no sense is replaced by what says nothing, never believed: partitioners
// and file systems divide by these numbers.
inline Result<DeviceTopology> parse_device_limits_response(ByteView answer, u32 logical_block_size)
{
	Result<DeviceLimitsResponse> m = answer.read<DeviceLimitsResponse>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::DeviceLimitsResponse))
		return err::einval;
	auto is_size = [&](u32 v) {
		return v >= logical_block_size && v <= kMaxTopologySize &&
		       v % logical_block_size == 0;
	};
	DeviceTopology t{};
	t.physical_block_size = m->physical_block_size.get();
	if (!is_power_of_two(t.physical_block_size) || !is_size(t.physical_block_size))
		t.physical_block_size = logical_block_size;
	t.io_min = m->io_min.get();
	if (!is_size(t.io_min) || t.io_min < t.physical_block_size)
		t.io_min = t.physical_block_size;
	t.io_opt = is_size(m->io_opt.get()) ? m->io_opt.get() : 0;
	const u32 alignment = m->alignment_offset.get();
	if (alignment == static_cast<u32>(kMisaligned))
		t.alignment_offset = kMisaligned;
	else if (alignment < t.io_min && alignment % logical_block_size == 0)
		t.alignment_offset = static_cast<s32>(alignment);
	t.rotational = (m->flags.get() & DeviceLimitsResponse::kRotational) != 0;
	return t;
}

} // namespace rnbd
