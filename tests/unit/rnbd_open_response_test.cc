// SPDX-License-Identifier: GPL-2.0
// OPEN_RSP: what servers send and clients believe (protocol D.1, D.4, G.3-20).
#include <rnbd/wire/open_response.hh>

using namespace rnbd;

namespace {

const Bytes kResponse = message(56, {
					{0, "0300"},		 // type OPEN_RSP
					{4, "05000000"},	 // device_id
					{8, "0000200000000000"}, // nsectors 2097152
					{16, "00050000"},	 // max_hw_sectors 1280
					{20, "00800000"},	 // max_write_zeroes_sectors 32768
					{24, "00400000"},	 // max_discard_sectors 16384
					{28, "00100000"},	 // discard_granularity 4096
					{32, "00020000"},	 // discard_alignment 512
					{36, "0010"},		 // physical_block_size 4096
					{38, "0002"},		 // logical_block_size 512
					{40, "8000"},		 // max_segments 128
					{42, "0100"},		 // secure_discard
					{44, "00"},		 // obsolete_rotational
					{45, "03"},		 // cache_policy FUA, WRITEBACK
				    });

constexpr ClientLimits kTrusting{4096, true};
constexpr ClientLimits kCareful{4096, false};

DeviceProperties properties()
{
	return {
	    .device = {5},
	    .capacity = {2097152},
	    .logical_block_size = 512,
	    .physical_block_size = 4096,
	    .max_hw_sectors = 1280,
	    .max_segments = 128,
	    .max_discard_sectors = 16384,
	    .discard_granularity = 4096,
	    .discard_alignment = 512,
	    .max_write_zeroes_sectors = 32768,
	    .max_secure_erase_sectors = 1,
	    .writeback = true,
	    .fua = true,
	};
}

int accept(std::initializer_list<Row> rows, const ClientLimits &limits = kTrusting)
{
	return code(parse_open_response(view(with(kResponse, rows)), limits));
}

DeviceProperties parse(std::initializer_list<Row> rows)
{
	return parse_open_response(view(with(kResponse, rows)), kTrusting).take();
}

Bytes build(const DeviceProperties &p)
{
	return bytes_of(make_open_response(p).value());
}

} // namespace

TEST(OpenResponse, IsBuiltAsDocumented)
{
	EXPECT_EQ(build(properties()), kResponse);
	DeviceProperties plain = properties();
	plain.writeback = false;
	EXPECT_EQ(build(plain), with(kResponse, {{45, "01"}}));
	plain.fua = false;
	EXPECT_EQ(build(plain), with(kResponse, {{45, "00"}}));
}

TEST(OpenResponse, ReadsEveryField)
{
	DeviceProperties p = parse({});
	EXPECT_EQ(p.device.value, 5u);
	EXPECT_EQ(p.capacity.value, 2097152u);
	EXPECT_EQ(p.max_hw_sectors, 1280u);
	EXPECT_EQ(p.max_write_zeroes_sectors, 32768u);
	EXPECT_EQ(p.max_discard_sectors, 16384u);
	EXPECT_EQ(p.discard_granularity, 4096u);
	EXPECT_EQ(p.discard_alignment, 512u);
	EXPECT_EQ(p.physical_block_size, 4096u);
	EXPECT_EQ(p.logical_block_size, 512u);
	EXPECT_EQ(p.max_segments, 128u);
	EXPECT_EQ(p.max_secure_erase_sectors, 16384u);
	EXPECT_TRUE(p.writeback);
	EXPECT_TRUE(p.fua);
}

TEST(OpenResponse, LengthAndType)
{
	for (std::size_t n = 0; n < 56; n++) {
		EXPECT_EQ(code(parse_open_response(view(cut(kResponse, n)), kTrusting)), -90);
		EXPECT_EQ(code(open_response_id(view(cut(kResponse, n)))), -90);
	}
	EXPECT_EQ(accept({{0, "0200"}}), -22);
	EXPECT_EQ(accept({{0, "0000"}}), -22);
	EXPECT_EQ(code(open_response_id(view(with(kResponse, {{0, "0200"}})))), -22);
}

TEST(OpenResponse, LogicalBlockSize)
{
	for (u32 size = 0; size < 65536; size++) {
		Bytes bytes = kResponse;
		bytes[38] = static_cast<u8>(size);
		bytes[39] = static_cast<u8>(size >> 8);
		for (u32 page : {4096u, 65536u}) {
			bool good = size >= 512 && (size & (size - 1)) == 0 && size <= page;
			Result<DeviceProperties> r =
			    parse_open_response(view(bytes), ClientLimits{page, true});
			ASSERT_EQ(code(r), good ? 0 : -22) << size;
			// What is refused can still be closed.
			ASSERT_EQ(open_response_id(view(bytes))->value, 5u);
		}
	}
}

TEST(OpenResponse, PhysicalBlockSize)
{
	EXPECT_EQ(parse({{36, "0000"}}).physical_block_size, 512u);
	EXPECT_EQ(parse({{36, "0001"}}).physical_block_size, 512u); // 256
	EXPECT_EQ(parse({{36, "0110"}}).physical_block_size, 512u); // 4097
	EXPECT_EQ(parse({{36, "0080"}}).physical_block_size, 32768u);
	EXPECT_EQ(parse({{36, "0002"}, {38, "0010"}}).physical_block_size, 4096u);
}

TEST(OpenResponse, Capacity)
{
	EXPECT_EQ(parse({{8, "0000000000000000"}}).capacity.value, 0u);
	EXPECT_EQ(accept({{8, "FFFFFFFFFFFF3F00"}}), 0); // 2^54 - 1
	EXPECT_EQ(accept({{8, "0000000000004000"}}), -22);
	EXPECT_EQ(accept({{8, "FFFFFFFFFFFFFFFF"}}), -22);
	// Whole blocks only.
	EXPECT_EQ(parse({{8, "0F00000000000000"}, {38, "0010"}}).capacity.value, 8u);
}

TEST(OpenResponse, Discard)
{
	DeviceProperties none = parse({{24, "00000000"}});
	EXPECT_EQ(none.max_discard_sectors, 0u);
	EXPECT_EQ(none.discard_granularity, 0u);
	EXPECT_EQ(none.max_secure_erase_sectors, 0u);
	// As many bytes as 32 bits hold, in whole blocks.
	EXPECT_EQ(parse({{24, "FFFFFFFF"}}).max_discard_sectors, 0x7fffffu);
	EXPECT_EQ(parse({{24, "FFFFFFFF"}, {38, "0010"}}).max_discard_sectors, 0x7ffff8u);
	EXPECT_EQ(parse({{24, "07000000"}, {38, "0010"}}).max_discard_sectors, 0u);
	EXPECT_EQ(parse({{28, "00000000"}}).discard_granularity, 512u);
	EXPECT_EQ(parse({{28, "01020000"}}).discard_granularity, 512u);
	EXPECT_EQ(parse({{28, "00060000"}}).discard_granularity, 1536u);
	EXPECT_EQ(parse({{32, "FFFFFFFF"}}).discard_alignment, 0u);
	EXPECT_EQ(parse({{32, "00100000"}}).discard_alignment, 0u);
	EXPECT_EQ(parse({{32, "000E0000"}}).discard_alignment, 3584u);
	EXPECT_EQ(parse({{32, "01000000"}}).discard_alignment, 0u);
	EXPECT_EQ(parse({{42, "0000"}}).max_secure_erase_sectors, 0u);
	EXPECT_EQ(parse({{42, "FFFF"}}).max_secure_erase_sectors, 16384u);
}

TEST(OpenResponse, WriteZeroesOnlyFromATrustedServer)
{
	EXPECT_EQ(parse_open_response(view(kResponse), kCareful)->max_write_zeroes_sectors, 0u);
	EXPECT_EQ(parse({{20, "FFFFFFFF"}}).max_write_zeroes_sectors, 0x7fffffu);
	EXPECT_EQ(parse({{20, "00000000"}}).max_write_zeroes_sectors, 0u);
}

TEST(OpenResponse, CachePolicy)
{
	for (int policy = 0; policy < 256; policy++) {
		Bytes bytes = kResponse;
		bytes[45] = static_cast<u8>(policy);
		Result<DeviceProperties> r = parse_open_response(view(bytes), kTrusting);
		ASSERT_TRUE(r.ok());
		EXPECT_EQ(r->writeback, (policy & 2) == 2);
		EXPECT_EQ(r->fua, (policy & 3) == 3);
	}
}

TEST(OpenResponse, ServerClamps)
{
	DeviceProperties p = properties();
	p.logical_block_size = 32768;
	p.physical_block_size = 65536;
	Bytes bytes = build(p);
	EXPECT_EQ(cut(Bytes(bytes.begin() + 36, bytes.end()), 4), hex("00800080"));
	p.logical_block_size = 65536;
	EXPECT_EQ(code(make_open_response(p)), -34);

	p = properties();
	p.max_secure_erase_sectors = 0x10000; // low 16 bits are zero
	p.max_segments = 0x10000;
	EXPECT_EQ(build(p), with(kResponse, {{40, "FFFF"}, {42, "FFFF"}}));
	p.max_secure_erase_sectors = 0;
	EXPECT_EQ(build(p), with(kResponse, {{40, "FFFF"}, {42, "0000"}}));
}

TEST(OpenResponse, UsableRange)
{
	EXPECT_EQ(usable_range(0, 512), 0u);
	EXPECT_EQ(usable_range(15, 4096), 8u);
	EXPECT_EQ(usable_range(16, 4096), 16u);
	EXPECT_EQ(usable_range(0xffffffff, 512), 0x7fffffu);
	EXPECT_EQ(usable_range(16, 0), 0u);
}
