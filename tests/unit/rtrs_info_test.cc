// SPDX-License-Identifier: GPL-2.0
// Session names, the INFO exchange and RKEY_RSP (protocol A.4).
#include <rtrs/wire/info.hh>
#include <rtrs/wire/rkey.hh>

using namespace rtrs;

namespace {

const Bytes kInfoRequest = message(272, {
					    {0, "0000"},	 // type INFO_REQ
					    {2, "626C6F636B31"}, // name "block1"
					});

constexpr QueueDepth kDepth{4};
constexpr ByteCount kChunk{8192};

// Two regions of two chunks.
const Bytes kInfoResponse = message(40, {
					    {0, "0100"},	     // type INFO_RSP
					    {2, "0200"},	     // sg_cnt
					    {8, "0010000000880000"}, // addr 0x880000001000
					    {16, "11223344"},	     // rkey
					    {20, "00400000"},	     // len 16384
					    {24, "00F0FFFF00000000"},
					    {32, "55667788"},
					    {36, "00400000"},
					});

struct Seen {
	u32 slot;
	u64 address;
	u32 rkey;
	bool operator==(const Seen &) const = default;
};

int accept(const Bytes &bytes, std::vector<Seen> *seen = nullptr, QueueDepth depth = kDepth,
	   ByteCount chunk = kChunk)
{
	std::vector<Seen> list;
	Status s = for_each_remote_slot(
	    view(bytes), depth, chunk, [&](Slot slot, RemoteAddress address, Rkey rkey) {
		    list.push_back({slot.value, address.value, rkey.value});
	    });
	if (!s.ok()) {
		EXPECT_TRUE(list.empty()) << "visited before it was refused";
	}
	if (seen)
		*seen = list;
	return s.code();
}

// n regions of `chunks` chunks each.
Bytes response(u32 n, u32 chunks, ByteCount chunk)
{
	Bytes bytes = bytes_of(make_info_response(n));
	for (u32 i = 0; i < n; i++) {
		Bytes d = bytes_of(Descriptor::from({RemoteAddress{0x100000ull * (i + 1)}, Rkey{i},
						     ByteCount{chunks * chunk.value}}));
		bytes.insert(bytes.end(), d.begin(), d.end());
	}
	return bytes;
}

} // namespace

TEST(SessionName, Characters)
{
	for (int c = 0; c < 256; c++) {
		char one[1] = {static_cast<char>(c)};
		bool legal = c >= 0x20 && c <= 0x7e && c != '/' && c != '.';
		EXPECT_EQ(check_session_name(TextView(one, 1)).ok(), legal) << c;
	}
}

TEST(SessionName, WholeNames)
{
	for (const char *good : {"a", "blk@10.0.0", "ctl1", "CTL", "a-b_c", "ct"})
		EXPECT_EQ(check_session_name(text(good)).ok(),
			  std::string_view(good).find('.') == std::string_view::npos)
		    << good;
	for (const char *bad : {"", "ctl", ".", "..", "a/b", "/", "a.b", "a\n", "\x7f", "\xc3\xa9"})
		EXPECT_EQ(code(check_session_name(text(bad))), -22) << bad;
}

TEST(SessionName, Length)
{
	EXPECT_TRUE(check_session_name(text(std::string(254, 'n'))).ok());
	EXPECT_EQ(code(check_session_name(text(std::string(255, 'n')))), -22);
	EXPECT_EQ(code(check_session_name(text(std::string(256, 'n')))), -22);
	const std::string longest(254, 'n');
	Result<SessionName> name = SessionName::from(text(longest));
	ASSERT_TRUE(name.ok());
	EXPECT_EQ(std::string(name->c_str()), longest);
	EXPECT_EQ(str(name->view()), longest);
}

TEST(SessionName, TakesNoMoreThanItsText)
{
	EXPECT_STREQ(SessionName::from(TextView("abcdef").first(3))->c_str(), "abc");
}

TEST(SessionName, Equality)
{
	EXPECT_TRUE(SessionName::from("ab").value() == SessionName::from("ab").value());
	EXPECT_FALSE(SessionName::from("ab").value() == SessionName::from("abc").value());
}

TEST(InfoRequest, ReadsTheName)
{
	Result<SessionName> r = parse_info_request(view(kInfoRequest));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(str(r->view()), "block1");
	EXPECT_EQ(bytes_of(make_info_request(r.value())), kInfoRequest);
}

TEST(InfoRequest, IgnoresWhatFollowsTheName)
{
	Bytes bytes = kInfoRequest;
	for (std::size_t i = 9; i < bytes.size(); i++)
		bytes[i] = 0xff;
	EXPECT_EQ(str(parse_info_request(view(bytes))->view()), "block1");
}

TEST(InfoRequest, LengthIsExact)
{
	for (std::size_t n = 0; n < 272; n++)
		EXPECT_EQ(code(parse_info_request(view(cut(kInfoRequest, n)))), -90) << n;
	Bytes longer = kInfoRequest;
	longer.push_back(0);
	EXPECT_EQ(code(parse_info_request(view(longer))), -90);
}

TEST(InfoRequest, OtherTypes)
{
	for (const char *type : {"0100", "0200", "0300", "0400", "FFFF", "0001"})
		EXPECT_EQ(code(parse_info_request(view(with(kInfoRequest, {{0, type}})))), -71);
}

TEST(InfoRequest, NameMustBeTerminatedAndLegal)
{
	Bytes bytes = kInfoRequest;
	std::memset(bytes.data() + 2, 'n', 255);
	EXPECT_EQ(code(parse_info_request(view(bytes))), -22);
	bytes[256] = 0;
	EXPECT_EQ(parse_info_request(view(bytes))->view().size(), 254u);
	EXPECT_EQ(code(parse_info_request(view(with(kInfoRequest, {{2, "00"}})))), -22);
	EXPECT_EQ(code(parse_info_request(view(with(kInfoRequest, {{4, "2F"}})))), -22);
	EXPECT_EQ(code(parse_info_request(view(with(kInfoRequest, {{4, "2E"}})))), -22);
	EXPECT_EQ(code(parse_info_request(view(with(kInfoRequest, {{4, "0A"}})))), -22);
	EXPECT_EQ(code(parse_info_request(view(with(kInfoRequest, {{2, "63746C00"}})))), -22);
	EXPECT_EQ(code(parse_info_request(view(with(kInfoRequest, {{2, "2E2E00"}})))), -22);
}

TEST(InfoResponse, HeaderAndSize)
{
	EXPECT_EQ(bytes_of(make_info_response(512)), hex("0100000200000000"));
	EXPECT_EQ(info_response_size(512), 8200u);
	EXPECT_EQ(info_response_size(0), 8u);
}

TEST(InfoResponse, CutsRegionsIntoSlots)
{
	std::vector<Seen> seen;
	ASSERT_EQ(accept(kInfoResponse, &seen), 0);
	const std::vector<Seen> expected = {
	    {0, 0x880000001000, 0x44332211},
	    {1, 0x880000003000, 0x44332211},
	    {2, 0x0000fffff000, 0x88776655},
	    {3, 0x000100001000, 0x88776655},
	};
	EXPECT_EQ(seen, expected);
}

TEST(InfoResponse, OneRegionOrOnePerChunk)
{
	std::vector<Seen> seen;
	EXPECT_EQ(accept(response(1, 512, kChunk), &seen, QueueDepth{512}), 0);
	EXPECT_EQ(seen.size(), 512u);
	EXPECT_EQ(seen[511].address, 0x100000u + 511 * 8192u);
	EXPECT_EQ(
	    accept(response(512, 1, ByteCount{131072}), &seen, QueueDepth{512}, ByteCount{131072}),
	    0);
	EXPECT_EQ(seen.size(), 512u);
	EXPECT_EQ(seen[511].rkey, 511u);
}

// Regions of different sizes, which no server has: a slot is found by its number.
TEST(InfoResponse, RegionsAreOfOneSize)
{
	const Bytes uneven = message(40, {{0, "01000200"}, {20, "00200000"}, {36, "00400000"}});
	EXPECT_EQ(accept(uneven, nullptr, QueueDepth{3}), -22);
}

TEST(InfoResponse, Length)
{
	for (std::size_t n = 0; n < 40; n++)
		EXPECT_EQ(accept(cut(kInfoResponse, n)), -90) << n;
	Bytes longer = kInfoResponse;
	longer.push_back(0);
	EXPECT_EQ(accept(longer), -90);
	EXPECT_EQ(accept(with(kInfoResponse, {{2, "0300"}})), -90);
	EXPECT_EQ(accept(with(kInfoResponse, {{2, "0100"}})), -90);
	EXPECT_EQ(accept(with(kInfoResponse, {{2, "FFFF"}})), -90);
}

TEST(InfoResponse, Type)
{
	EXPECT_EQ(accept(with(kInfoResponse, {{0, "0000"}})), -71);
	EXPECT_EQ(accept(with(kInfoResponse, {{0, "0400"}})), -71);
}

TEST(InfoResponse, NumberOfRegions)
{
	EXPECT_EQ(accept(cut(with(kInfoResponse, {{2, "0000"}}), 8)), -22);
	// Must divide the depth evenly.
	EXPECT_EQ(accept(response(3, 1, kChunk), nullptr, QueueDepth{3}), 0);
	EXPECT_EQ(accept(response(3, 1, kChunk), nullptr, QueueDepth{4}), -22);
	EXPECT_EQ(accept(response(2, 1, kChunk), nullptr, QueueDepth{1}), -22);
	EXPECT_EQ(accept(response(8, 1, kChunk), nullptr, QueueDepth{4}), -22);
}

TEST(InfoResponse, BitsOfRegionsAndChunk)
{
	// 2 regions need 1 bit, which a chunk of 2^27 leaves.
	EXPECT_EQ(accept(response(2, 1, ByteCount{1u << 27}), nullptr, QueueDepth{2},
			 ByteCount{1u << 27}),
		  0);
	EXPECT_EQ(accept(response(2, 1, ByteCount{(1u << 27) + 1}), nullptr, QueueDepth{2},
			 ByteCount{(1u << 27) + 1}),
		  -22);
}

TEST(InfoResponse, LengthsOfRegions)
{
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "00000000"}})), -22);
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "01400000"}})), -22); // no whole chunk
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "00200000"}})), -22); // a slot too few
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "00600000"}})), -22); // a slot too many
	// The sum is right, the parts are not.
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "01400000"}, {36, "FF3F0000"}})), -22);
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "00000000"}, {36, "00800000"}})), -22);
	// 3 + 1 chunks are as good as 2 + 2.
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "00600000"}, {36, "00200000"}})), 0);
	// The sum is right only modulo 2^32.
	EXPECT_EQ(accept(with(kInfoResponse, {{20, "00000080"}, {36, "00800080"}})), -22);
	EXPECT_EQ(accept(kInfoResponse, nullptr, kDepth, ByteCount{0}), -22);
}

TEST(InfoResponse, AddressMustNotWrap)
{
	EXPECT_EQ(accept(with(kInfoResponse, {{8, "FFBFFFFFFFFFFFFF"}})), 0);
	EXPECT_EQ(accept(with(kInfoResponse, {{8, "00C0FFFFFFFFFFFF"}})), -22);
	EXPECT_EQ(accept(with(kInfoResponse, {{8, "FFFFFFFFFFFFFFFF"}})), -22);
}

TEST(RkeyResponse, Layout)
{
	const Bytes bytes = message(8, {{0, "0400"}, {2, "0701"}, {4, "78563412"}});
	EXPECT_EQ(bytes_of(make_rkey_response(Slot{0x107}, Rkey{0x12345678})), bytes);
	EXPECT_EQ(parse_rkey_response(view(bytes), Slot{0x107})->value, 0x12345678u);
}

TEST(RkeyResponse, Refusals)
{
	const Bytes bytes = message(8, {{0, "0400"}, {2, "0701"}, {4, "78563412"}});
	for (std::size_t n = 0; n < 8; n++)
		EXPECT_EQ(code(parse_rkey_response(view(cut(bytes, n)), Slot{0x107})), -90);
	Bytes longer = bytes;
	longer.push_back(0);
	EXPECT_EQ(code(parse_rkey_response(view(longer), Slot{0x107})), -90);
	EXPECT_EQ(code(parse_rkey_response(view(bytes), Slot{0x106})), -22);
	EXPECT_EQ(code(parse_rkey_response(view(bytes), Slot{0x10107})), -22);
	for (const char *type : {"0000", "0100", "0300", "0500"})
		EXPECT_EQ(code(parse_rkey_response(view(with(bytes, {{0, type}})), Slot{0x107})),
			  -71);
}
