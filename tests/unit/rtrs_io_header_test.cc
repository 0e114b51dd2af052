// SPDX-License-Identifier: GPL-2.0
// Request headers in chunks (protocol A.5, A.8, G.2).
#include <rtrs/wire/io_header.hh>

using namespace rtrs;

namespace {

using Action = IoVerdict::Action;

const Bytes kWrite = message(4, {{0, "0200"}, {2, "2000"}});

const Bytes kRead = message(24, {
				    {0, "0300"},	     // type READ
				    {2, "2000"},	     // usr_len 32
				    {4, "0100"},	     // flags NEED_INVAL
				    {6, "0100"},	     // sg_cnt
				    {8, "0010000000880000"}, // client address
				    {16, "11223344"},	     // client rkey
				    {20, "00100000"},	     // length 4096
				});

const Bytes kFlush = message(8, {{0, "0300"}, {2, "2000"}, {4, "0000"}, {6, "0000"}});

// Data of 4096 bytes and a user message of 32.
constexpr ChunkOffset kOff{4096 + 32};

struct Parsed : IoVerdict {
	IoHeader header;
};

Parsed parse(const Bytes &bytes, ChunkOffset off = kOff)
{
	IoHeader header{};
	const IoVerdict verdict = parse_io_header(view(bytes), off, header);
	return {verdict, header};
}

void expect(const Bytes &bytes, ChunkOffset off, Action action, int error = 0)
{
	Parsed v = parse(bytes, off);
	EXPECT_EQ(v.action, action);
	if (error) {
		EXPECT_EQ(v.error.code(), error);
	}
}

} // namespace

TEST(IoHeader, CopySize)
{
	EXPECT_EQ(io_header_copy_size(ChunkOffset{0}, ByteCount{8192}), 24u);
	EXPECT_EQ(io_header_copy_size(ChunkOffset{8192 - 25}, ByteCount{8192}), 24u);
	EXPECT_EQ(io_header_copy_size(ChunkOffset{8192 - 24}, ByteCount{8192}), 24u);
	EXPECT_EQ(io_header_copy_size(ChunkOffset{8192 - 23}, ByteCount{8192}), 23u);
	EXPECT_EQ(io_header_copy_size(ChunkOffset{8192 - 4}, ByteCount{8192}), 4u);
	EXPECT_EQ(io_header_copy_size(ChunkOffset{8191}, ByteCount{8192}), 1u);
	EXPECT_EQ(io_header_copy_size(ChunkOffset{8192}, ByteCount{8192}), 0u);
	EXPECT_EQ(io_header_copy_size(ChunkOffset{0xffffffff}, ByteCount{8192}), 0u);
}

TEST(IoHeader, Write)
{
	Parsed v = parse(kWrite);
	ASSERT_TRUE(v.accepted());
	EXPECT_EQ(v.header.direction, Direction::Write);
	EXPECT_EQ(v.header.usr_len.value, 32u);
	EXPECT_EQ(v.header.data_len.value, 4096u);
	EXPECT_EQ(v.header.usr_offset().value, 4096u);
	EXPECT_EQ(v.header.transfer_size().value, 4096u);
	EXPECT_FALSE(v.header.has_descriptor);
	EXPECT_FALSE(v.header.need_invalidate);
	EXPECT_EQ(bytes_of(make_write_header(32)), kWrite);
}

TEST(IoHeader, Read)
{
	Parsed v = parse(kRead);
	ASSERT_TRUE(v.accepted());
	EXPECT_EQ(v.header.direction, Direction::Read);
	EXPECT_EQ(v.header.usr_len.value, 32u);
	EXPECT_EQ(v.header.data_len.value, 4096u);
	EXPECT_TRUE(v.header.has_descriptor);
	EXPECT_TRUE(v.header.need_invalidate);
	const RemoteBuffer expected{{0x880000001000}, {0x44332211}, {4096}};
	EXPECT_EQ(v.header.descriptor, expected);
	EXPECT_EQ(v.header.transfer_size().value, 4096u);
	EXPECT_EQ(bytes_of(make_read_header(32, expected, true)), kRead);
	EXPECT_EQ(bytes_of(make_read_header(32, expected, false)), with(kRead, {{4, "0000"}}));
}

TEST(IoHeader, Flush)
{
	Parsed v = parse(kFlush, ChunkOffset{32});
	ASSERT_TRUE(v.accepted());
	EXPECT_EQ(v.header.direction, Direction::Read);
	EXPECT_EQ(v.header.data_len.value, 0u);
	EXPECT_FALSE(v.header.has_descriptor);
	EXPECT_FALSE(v.header.need_invalidate);
	EXPECT_EQ(v.header.transfer_size().value, 0u);
	EXPECT_EQ(bytes_of(make_read_header(32)), kFlush);
	// Room without a descriptor is no room for an answer.
	EXPECT_EQ(parse(kFlush, kOff).header.transfer_size().value, 0u);
}

TEST(IoHeader, TypeClosesThePath)
{
	for (u32 type = 0; type < 65536; type++) {
		Bytes bytes = kRead;
		bytes[0] = static_cast<u8>(type);
		bytes[1] = static_cast<u8>(type >> 8);
		Action expected = type == 2 || type == 3 ? Action::Accept : Action::ClosePath;
		ASSERT_EQ(parse(bytes).action, expected) << type;
	}
}

TEST(IoHeader, HeaderPastTheChunkClosesThePath)
{
	for (std::size_t n = 0; n < 4; n++)
		expect(cut(kWrite, n), kOff, Action::ClosePath, -90);
	for (std::size_t n = 0; n < 24; n++)
		expect(cut(kRead, n), kOff, Action::ClosePath, -90);
	for (std::size_t n = 0; n < 8; n++)
		expect(cut(kFlush, n), ChunkOffset{32}, Action::ClosePath, -90);
	expect(cut(kFlush, 8), ChunkOffset{32}, Action::Accept);
	expect(cut(kWrite, 4), kOff, Action::Accept);
}

TEST(IoHeader, UserLength)
{
	for (const Bytes &bytes : {kWrite, kFlush}) {
		// At least a header of its own.
		expect(with(bytes, {{2, "0000"}}), kOff, Action::Answer, -22);
		expect(with(bytes, {{2, "0300"}}), kOff, Action::Answer, -22);
		expect(with(bytes, {{2, "0400"}}), kOff, Action::Accept);
		// At most all that lies before the header.
		expect(bytes, ChunkOffset{33}, Action::Accept);
		expect(bytes, ChunkOffset{32}, Action::Accept);
		expect(bytes, ChunkOffset{31}, Action::Answer, -22);
		expect(bytes, ChunkOffset{0}, Action::Answer, -22);
		expect(with(bytes, {{2, "FFFF"}}), kOff, Action::Answer, -22);
		expect(with(bytes, {{2, "FFFF"}}), ChunkOffset{65534}, Action::Answer, -22);
		expect(with(bytes, {{2, "FFFF"}}), ChunkOffset{65535}, Action::Accept);
	}
	EXPECT_EQ(parse(kWrite, ChunkOffset{32}).header.data_len.value, 0u);
}

TEST(IoHeader, ReadFlags)
{
	for (u32 flags = 0; flags < 65536; flags++) {
		Bytes bytes = kRead;
		bytes[4] = static_cast<u8>(flags);
		bytes[5] = static_cast<u8>(flags >> 8);
		Parsed v = parse(bytes);
		ASSERT_EQ(v.action, flags < 2 ? Action::Accept : Action::Answer) << flags;
		if (v.accepted()) {
			EXPECT_EQ(v.header.need_invalidate, flags == 1);
		}
	}
	// There is nothing to invalidate without a descriptor.
	expect(with(kFlush, {{4, "0100"}}), ChunkOffset{32}, Action::Answer, -22);
}

TEST(IoHeader, DescriptorCount)
{
	for (u32 count = 2; count < 65536; count++) {
		Bytes bytes = kRead;
		bytes[6] = static_cast<u8>(count);
		bytes[7] = static_cast<u8>(count >> 8);
		ASSERT_EQ(parse(bytes).action, Action::Answer) << count;
		bytes[4] = 0; // nothing to invalidate
		ASSERT_EQ(parse(bytes).action, Action::Answer) << count;
	}
	expect(with(kRead, {{4, "0000"}, {6, "0000"}}), kOff, Action::Accept);
}

TEST(IoHeader, DescriptorLength)
{
	expect(with(kRead, {{20, "00000000"}}), kOff, Action::Answer, -22);
	expect(with(kRead, {{20, "01000000"}}), kOff, Action::Accept);
	expect(with(kRead, {{20, "FF0F0000"}}), kOff, Action::Accept);
	expect(with(kRead, {{20, "01100000"}}), kOff, Action::Answer, -22);
	expect(with(kRead, {{20, "FFFFFFFF"}}), kOff, Action::Answer, -22);
	expect(kRead, ChunkOffset{4096 + 31}, Action::Answer, -22);
	EXPECT_EQ(parse(with(kRead, {{20, "01000000"}})).header.transfer_size().value, 1u);
}

TEST(PlaceRequest, ChunkLimit)
{
	constexpr ByteCount chunk{8192}, header{4096}, usr{32};
	auto place = [&](Direction d, u32 data, bool descriptor) {
		return place_request(d, ByteCount{data}, usr, descriptor, chunk, header);
	};
	// data + message + header must fit.
	EXPECT_EQ(place(Direction::Write, 8192 - 36, false)->value, 8192u - 4);
	EXPECT_EQ(code(place(Direction::Write, 8192 - 35, false)), -90);
	EXPECT_EQ(place(Direction::Read, 8192 - 56, true)->value, 8192u - 24);
	EXPECT_EQ(code(place(Direction::Read, 8192 - 55, true)), -90);
	EXPECT_EQ(place(Direction::Read, 0, false)->value, 32u);
	EXPECT_EQ(code(place(Direction::Write, 0xffffffff, false)), -90);
}

TEST(PlaceRequest, HeaderLimit)
{
	constexpr ByteCount chunk{131072}, header{512};
	auto place = [&](Direction d, u32 usr, bool descriptor) {
		return code(
		    place_request(d, ByteCount{0}, ByteCount{usr}, descriptor, chunk, header));
	};
	EXPECT_EQ(place(Direction::Write, 508, false), 0);
	EXPECT_EQ(place(Direction::Write, 509, false), -90);
	EXPECT_EQ(place(Direction::Read, 504, false), 0);
	EXPECT_EQ(place(Direction::Read, 505, false), -90);
	EXPECT_EQ(place(Direction::Read, 488, true), 0);
	EXPECT_EQ(place(Direction::Read, 489, true), -90);
	EXPECT_EQ(place(Direction::Write, 3, false), -22);
	EXPECT_EQ(place(Direction::Write, 4, false), 0);
}

TEST(PlaceRequest, MessageLengthHasSixteenBits)
{
	constexpr ByteCount big{1u << 20};
	EXPECT_EQ(code(place_request(Direction::Write, {0}, {65535}, false, big, big)), 0);
	EXPECT_EQ(code(place_request(Direction::Write, {0}, {65536}, false, big, big)), -90);
}

// What a client places, a server accepts, for every size that fits.
TEST(PlaceRequest, AgreesWithTheServer)
{
	constexpr ByteCount chunk{8192}, header{4096};
	for (u32 data = 1; data <= 8192; data++) {
		for (bool read : {false, true}) {
			Direction d = read ? Direction::Read : Direction::Write;
			Result<ChunkOffset> off =
			    place_request(d, ByteCount{data}, ByteCount{32}, read, chunk, header);
			if (!off.ok())
				continue;
			Bytes h = read ? bytes_of(make_read_header(
					     32, RemoteBuffer{{1}, {2}, {data}}, true))
				       : bytes_of(make_write_header(32));
			Bytes memory(chunk.value);
			ASSERT_LE(off->value + h.size(), memory.size());
			std::memcpy(memory.data() + off->value, h.data(), h.size());
			Bytes copy(io_header_copy_size(off.value(), chunk));
			std::memcpy(copy.data(), memory.data() + off->value, copy.size());
			Parsed v = parse(copy, off.value());
			ASSERT_TRUE(v.accepted()) << data;
			ASSERT_EQ(v.header.data_len.value, data);
			ASSERT_EQ(v.header.transfer_size().value, data);
		}
	}
}
