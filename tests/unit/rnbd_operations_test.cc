// SPDX-License-Identifier: GPL-2.0
// IO messages (protocol D.1, D.3, G.2).
#include <rnbd/wire/operations.hh>

using namespace rnbd;

namespace {

using Op = Operation;

const Bytes kIo = message(32, {
				  {0, "0400"},		   // type IO
				  {4, "07000000"},	   // device_id
				  {8, "0800000000000000"}, // sector
				  {16, "01030000"},	   // rw: WRITE, SYNC, FUA
				  {20, "00100000"},	   // bi_size 4096
				  {24, "0440"},		   // prio: best effort, level 4
			      });

constexpr DeviceLimits kDevice{
    .capacity = {1000 * 8},
    .logical_block_size = 4096,
    .read_only = false,
    .max_io_bytes = 126976,
    .max_discard_sectors = 800,
    .max_secure_erase_sectors = 80,
    .max_write_zeroes_sectors = 160,
};

Transfer transfer_of(Op op, u32 bytes)
{
	return {direction_of(op), carries_data(op) ? bytes : 0};
}

int check(Op op, u64 sector, u32 bytes, const DeviceLimits &device = kDevice)
{
	IoFields io{{7}, {sector}, static_cast<u32>(op), bytes, 0};
	return code(check_io(io, transfer_of(op, bytes), device));
}

constexpr Op kAll[] = {Op::Read,    Op::Write,	     Op::Flush,
		       Op::Discard, Op::SecureErase, Op::WriteZeroes};
constexpr Op kRanges[] = {Op::Read, Op::Write, Op::Discard, Op::SecureErase, Op::WriteZeroes};

} // namespace

TEST(Io, ReadsEveryField)
{
	Result<IoFields> r = parse_io(view(kIo), 2);
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(r->device.value, 7u);
	EXPECT_EQ(r->sector.value, 8u);
	EXPECT_EQ(r->rw, 0x301u);
	EXPECT_EQ(r->size, 4096u);
	EXPECT_EQ(r->priority, 0x4004);
	EXPECT_EQ(bytes_of(make_io(DeviceId{7}, Op::Write, io_flag::sync | io_flag::fua, Sectors{8},
				   4096, 0x4004)),
		  kIo);
}

TEST(Io, LengthAndType)
{
	for (std::size_t n = 0; n < 24; n++)
		EXPECT_EQ(code(parse_io(view(cut(kIo, n)), 2)), -90) << n;
	for (std::size_t n = 24; n <= 32; n++)
		EXPECT_EQ(code(parse_io(view(cut(kIo, n)), 2)), 0) << n;
	for (const char *type : {"0000", "0200", "0300", "0500", "0401"})
		EXPECT_EQ(code(parse_io(view(with(kIo, {{0, type}})), 2)), -22);
}

TEST(Io, PriorityNeedsVersionTwoAndALongMessage)
{
	for (u8 version : {0, 1, 2, 3, 255})
		for (std::size_t n = 24; n <= 32; n++)
			EXPECT_EQ(parse_io(view(cut(kIo, n)), version)->priority,
				  version >= 2 && n >= 32 ? 0x4004 : 0);
	Bytes longer = kIo;
	longer.resize(40, 0xff);
	EXPECT_EQ(parse_io(view(longer), 2)->priority, 0x4004);
}

TEST(Io, TailPaddingIsIgnored)
{
	Bytes bytes = with(kIo, {{2, "FFFF"}, {26, "FFFFFFFFFFFF"}});
	EXPECT_EQ(parse_io(view(bytes), 2)->priority, 0x4004);
}

TEST(Operation, Directions)
{
	using D = Transfer::Direction;
	EXPECT_EQ(direction_of(Op::Read), D::Read);
	EXPECT_EQ(direction_of(Op::Write), D::Write);
	EXPECT_EQ(direction_of(Op::Flush), D::Read);
	EXPECT_EQ(direction_of(Op::Discard), D::Write);
	EXPECT_EQ(direction_of(Op::SecureErase), D::Write);
	EXPECT_EQ(direction_of(Op::WriteZeroes), D::Write);
}

TEST(CheckIo, EveryOperationWorks)
{
	for (Op op : kRanges)
		EXPECT_EQ(check(op, 8, 4096), 0) << static_cast<int>(op);
	EXPECT_EQ(check(Op::Flush, 0, 0), 0);
}

TEST(CheckIo, UnknownOperations)
{
	for (u32 op = 6; op < 256; op++) {
		for (auto d : {Transfer::Direction::Read, Transfer::Direction::Write}) {
			IoFields io{{7}, {8}, op, 4096, 0};
			EXPECT_EQ(code(check_io(io, {d, 4096}, kDevice)), -95) << op;
			EXPECT_EQ(code(check_io(io, {d, 0}, kDevice)), -95) << op;
		}
	}
}

TEST(CheckIo, DirectionMustFit)
{
	for (Op op : kAll) {
		u32 bytes = op == Op::Flush ? 0 : 4096;
		Transfer t = transfer_of(op, bytes);
		t.direction = t.is_read() ? Transfer::Direction::Write : Transfer::Direction::Read;
		IoFields io{{7}, {8}, static_cast<u32>(op), bytes, 0};
		EXPECT_EQ(code(check_io(io, t, kDevice)), -22) << static_cast<int>(op);
	}
}

TEST(CheckIo, DataMustBeAsLongAsTheRange)
{
	for (Op op : kAll) {
		u32 bytes = op == Op::Flush ? 0 : 4096;
		Transfer t = transfer_of(op, bytes);
		IoFields io{{7}, {8}, static_cast<u32>(op), bytes, 0};
		for (u32 other : {t.size + 1, t.size - 1, t.size + 4096}) {
			Transfer wrong{t.direction, other};
			EXPECT_EQ(code(check_io(io, wrong, kDevice)), -22)
			    << static_cast<int>(op) << ' ' << other;
		}
	}
}

TEST(CheckIo, FlushHasNoRange)
{
	EXPECT_EQ(check(Op::Flush, 0, 512), -22);
	EXPECT_EQ(check(Op::Flush, 0, 4096), -22);
	// A sector means nothing there, not even one beyond the end.
	IoFields io{{7}, {~0ull}, static_cast<u32>(Op::Flush), 0, 0};
	Result<CheckedIo> r = check_io(io, {Transfer::Direction::Read, 0}, kDevice);
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(r->sector.value, 0u);
}

TEST(CheckIo, Size)
{
	const u32 limits[] = {126976, 126976, 800 * 512, 80 * 512, 160 * 512};
	for (std::size_t i = 0; i < 5; i++) {
		Op op = kRanges[i];
		EXPECT_EQ(check(op, 0, 0), -22);
		EXPECT_EQ(check(op, 0, 512), -22);
		EXPECT_EQ(check(op, 0, 4095), -22);
		EXPECT_EQ(check(op, 0, 4097), -22);
		EXPECT_EQ(check(op, 0, limits[i]), 0) << i;
		EXPECT_EQ(check(op, 0, limits[i] + 1), -22) << i;
		EXPECT_EQ(check(op, 0, limits[i] + 4096), -22) << i;
		EXPECT_EQ(check(op, 0, 0xfffff000), -22) << i;
	}
}

TEST(CheckIo, RangeMustLieOnTheDevice)
{
	for (Op op : kRanges) {
		EXPECT_EQ(check(op, 7992, 4096), 0);
		EXPECT_EQ(check(op, 7992, 8192), -5);
		EXPECT_EQ(check(op, 8000, 4096), -5);
		EXPECT_EQ(check(op, 8008, 4096), -5);
		EXPECT_EQ(check(op, 0x007ffffffffffff8, 4096), -5);
		EXPECT_EQ(check(op, 0xfffffffffffffff8, 4096), -5); // sum overflows
		EXPECT_EQ(check(op, 0x0080000000000000, 4096), -5); // bytes overflow
	}
	// By one sector, which with larger blocks is never a whole one.
	DeviceLimits small = kDevice;
	small.logical_block_size = 512;
	small.capacity = {100};
	for (Op op : kRanges) {
		EXPECT_EQ(check(op, 99, 512, small), 0);
		EXPECT_EQ(check(op, 98, 1024, small), 0);
		EXPECT_EQ(check(op, 100, 512, small), -5);
		EXPECT_EQ(check(op, 99, 1024, small), -5);
	}
	DeviceLimits empty = kDevice;
	empty.capacity = {0};
	EXPECT_EQ(check(Op::Read, 0, 4096, empty), -5);
}

TEST(CheckIo, SectorMustBeAligned)
{
	for (Op op : kRanges) {
		for (u64 sector = 1; sector < 8; sector++)
			EXPECT_EQ(check(op, sector, 4096), -22);
		EXPECT_EQ(check(op, 16, 4096), 0);
	}
	DeviceLimits small = kDevice;
	small.logical_block_size = 512;
	EXPECT_EQ(check(Op::Read, 1, 512, small), 0);
	EXPECT_EQ(check(Op::Read, 1, 511, small), -22);
	// One sector more than it takes.
	EXPECT_EQ(check(Op::Read, 0, 126976, small), 0);
	EXPECT_EQ(check(Op::Read, 0, 126976 + 512, small), -22);
}

TEST(CheckIo, ReadOnlyMappings)
{
	DeviceLimits ro = kDevice;
	ro.read_only = true;
	for (Op op : kAll) {
		bool harmless = op == Op::Read || op == Op::Flush;
		u32 bytes = op == Op::Flush ? 0 : 4096;
		EXPECT_EQ(check(op, 0, bytes, ro), harmless ? 0 : -30) << static_cast<int>(op);
	}
}

TEST(CheckIo, WhatTheDeviceLacks)
{
	DeviceLimits plain = kDevice;
	plain.max_discard_sectors = plain.max_secure_erase_sectors =
	    plain.max_write_zeroes_sectors = 0;
	EXPECT_EQ(check(Op::Discard, 0, 4096, plain), -95);
	EXPECT_EQ(check(Op::SecureErase, 0, 4096, plain), -95);
	EXPECT_EQ(check(Op::WriteZeroes, 0, 4096, plain), -95);
	EXPECT_EQ(check(Op::Write, 0, 4096, plain), 0);
	plain.logical_block_size = 0;
	EXPECT_EQ(check(Op::Write, 0, 4096, plain), -22);
}

TEST(CheckIo, Flags)
{
	const u32 known[] = {0x100, 0x700, 0x100, 0x100, 0x100, 0x900};
	for (std::size_t i = 0; i < 6; i++) {
		u32 bytes = kAll[i] == Op::Flush ? 0 : 4096;
		IoFields io{{7}, {0}, static_cast<u32>(kAll[i]) | 0xffffff00, bytes, 0x4004};
		Result<CheckedIo> r = check_io(io, transfer_of(kAll[i], bytes), kDevice);
		ASSERT_TRUE(r.ok());
		EXPECT_EQ(r->operation, kAll[i]);
		EXPECT_EQ(r->flags, known[i]);
		EXPECT_EQ(r->bytes, bytes);
		EXPECT_EQ(r->priority, 0x4004);
		Bytes wire =
		    bytes_of(make_io(DeviceId{0}, kAll[i], 0xffffffff, Sectors{0}, bytes, 0));
		EXPECT_EQ(wire[17], known[i] >> 8);
		EXPECT_EQ(wire[16], i);
		EXPECT_EQ(wire[18] | wire[19], 0);
	}
}

TEST(CheckIo, FlagValues)
{
	EXPECT_EQ(io_flag::sync, 1u << 8);
	EXPECT_EQ(io_flag::fua, 1u << 9);
	EXPECT_EQ(io_flag::preflush, 1u << 10);
	EXPECT_EQ(io_flag::nounmap, 1u << 11);
}

TEST(Priority, Classes)
{
	for (u32 prio = 0; prio < 65536; prio++) {
		u32 cls = prio >> 13;
		u16 p = static_cast<u16>(prio);
		u16 strict = sanitize_priority(p, false), open = sanitize_priority(p, true);
		if (cls == 0 || cls > 3) {
			ASSERT_EQ(strict, 0);
			ASSERT_EQ(open, 0);
		} else {
			ASSERT_EQ(open, p);
			ASSERT_EQ(strict, cls == 1 ? (2u << 13 | (prio & 0x1fff)) : p);
		}
	}
}
