// SPDX-License-Identifier: GPL-2.0
// What a server tells of a device, and what a client believes of it (protocol D.1, D.4, G.3-20).
// Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// Properties of a device in natural units, on both sides.
struct DeviceProperties {
	DeviceId device;
	Sectors capacity;
	u32 logical_block_size;	 // bytes
	u32 physical_block_size; // bytes
	u32 max_hw_sectors;	 // today's clients ignore it
	u32 max_segments;	 // likewise
	u32 max_discard_sectors; // 0: no discard
	u32 discard_granularity; // bytes
	u32 discard_alignment;	 // bytes
	u32 max_write_zeroes_sectors;
	u32 max_secure_erase_sectors; // client: equal to max_discard_sectors, or 0
	bool writeback;		      // has a volatile cache: flushes are needed
	bool fua;
};

// Bytes of a request must fit into 32 bits.
constexpr u32 kMaxRangeSectors = 0xffffffffu >> kSectorShift;
// The size of a disk in bytes is a loff_t, so 2^63 bytes are one too many: the kernel would take
// them for a negative size.
constexpr u64 kMaxCapacitySectors = ((u64{1} << 63) - 1) >> kSectorShift;
constexpr u32 kUnknownAlignment = 0xffffffff;
constexpr u32 kMaxWireBlockSize = 32768;

constexpr bool is_power_of_two(u32 v)
{
	return v && !(v & (v - 1));
}

// Whole blocks of a limit in sectors, and no more than a request can ask for.
constexpr u32 usable_range(u32 sectors, u32 logical_block_size)
{
	u32 block = logical_block_size >> kSectorShift;
	sectors = cxxrt::min_of(sectors, kMaxRangeSectors);
	return block ? sectors - sectors % block : 0;
}

// Server side. ERANGE for a logical block size that 16 bits can't tell (protocol D.1); what else
// does not fit is clamped to what does. The caller passes limits that check_io() will use as well,
// so it clamps them with usable_range() first.
constexpr Result<OpenResponse> make_open_response(const DeviceProperties &p)
{
	if (p.logical_block_size > kMaxWireBlockSize)
		return err::erange;
	OpenResponse m{};
	m.header = MessageHeader::of(MessageType::OpenResponse);
	m.device_id = p.device.value;
	m.nsectors = p.capacity.value;
	m.max_hw_sectors = p.max_hw_sectors;
	m.max_write_zeroes_sectors = p.max_write_zeroes_sectors;
	m.max_discard_sectors = p.max_discard_sectors;
	m.discard_granularity = p.discard_granularity;
	m.discard_alignment = p.discard_alignment;
	m.physical_block_size =
	    static_cast<u16>(cxxrt::min_of(p.physical_block_size, kMaxWireBlockSize));
	m.logical_block_size = static_cast<u16>(p.logical_block_size);
	m.max_segments = static_cast<u16>(cxxrt::min_of(p.max_segments, 0xffffu));
	// Clients only test for zero; low 16 bits of a limit could be zero by accident.
	m.secure_discard = static_cast<u16>(cxxrt::min_of(p.max_secure_erase_sectors, 0xffffu));
	m.cache_policy = static_cast<u8>((p.fua ? OpenResponse::kFua : 0) |
					 (p.writeback ? OpenResponse::kWriteback : 0));
	return m;
}

// What the client can live with.
struct ClientLimits {
	u32 max_block_size; // largest logical block size of its block layer: a page
	// Servers of 5.8 to 5.17 put a write-same limit into the field that means write-zeroes
	// since 6.8 (protocol D.4); so it counts only if somebody vouches for the server.
	bool trust_write_zeroes;
};

// Client side. EMSGSIZE, EINVAL for another type, a logical block size that is no power of two from
// 512 to the client's limit, or a capacity of 2^63 bytes or more. Limits that make no sense are
// reduced, never believed. A device that is refused must be closed again (protocol E.1); its id is
// what open_response_id() reads.
inline Result<DeviceProperties> parse_open_response(ByteView answer, const ClientLimits &limits)
{
	Result<OpenResponse> read = answer.read<OpenResponse>();
	if (!read.ok())
		return read.error();
	const OpenResponse &m = read.value();
	if (!m.header.is(MessageType::OpenResponse))
		return err::einval;

	u32 block = m.logical_block_size.get();
	if (!is_power_of_two(block) || block < kSectorSize || block > limits.max_block_size)
		return err::einval;
	if (m.nsectors.get() > kMaxCapacitySectors)
		return err::einval;

	DeviceProperties p{};
	p.device = {m.device_id.get()};
	p.logical_block_size = block;
	p.capacity = {m.nsectors.get() - m.nsectors.get() % (block >> kSectorShift)};
	p.physical_block_size = m.physical_block_size.get();
	if (!is_power_of_two(p.physical_block_size) || p.physical_block_size < block)
		p.physical_block_size = block;
	p.max_hw_sectors = m.max_hw_sectors.get();
	p.max_segments = m.max_segments.get();

	p.max_discard_sectors = usable_range(m.max_discard_sectors.get(), block);
	if (p.max_discard_sectors) {
		p.discard_granularity = m.discard_granularity.get();
		if (p.discard_granularity < block || p.discard_granularity % block != 0)
			p.discard_granularity = block;
		p.discard_alignment = m.discard_alignment.get();
		if (p.discard_alignment == kUnknownAlignment ||
		    p.discard_alignment >= p.discard_granularity ||
		    p.discard_alignment % block != 0)
			p.discard_alignment = 0;
		p.max_secure_erase_sectors = m.secure_discard.get() ? p.max_discard_sectors : 0;
	}
	if (limits.trust_write_zeroes)
		p.max_write_zeroes_sectors = usable_range(m.max_write_zeroes_sectors.get(), block);
	p.writeback = (m.cache_policy & OpenResponse::kWriteback) != 0;
	// Without a cache every write is as good as FUA.
	p.fua = p.writeback && (m.cache_policy & OpenResponse::kFua) != 0;
	return p;
}

// Client side: the id in an answer that parse_open_response() refused, to close it. EMSGSIZE,
// EINVAL for another type.
inline Result<DeviceId> open_response_id(ByteView answer)
{
	Result<OpenResponse> m = answer.read<OpenResponse>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::OpenResponse))
		return err::einval;
	return DeviceId{m->device_id.get()};
}

} // namespace rnbd
