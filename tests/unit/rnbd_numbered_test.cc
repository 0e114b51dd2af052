// SPDX-License-Identifier: GPL-2.0
// NUMBERED_OPEN and NUMBERED_CLOSE (protocol D.5, "Numbers of OPEN").
#include <rnbd/wire/extension.hh>

using namespace rnbd;

namespace {

constexpr Transfer read(u32 size)
{
	return {Transfer::Direction::Read, size};
}
constexpr Transfer write(u32 size)
{
	return {Transfer::Direction::Write, size};
}

constexpr OpenNumber kNumber{0x1122334455667788};

const Bytes kOpen = message(272, {
				     {0, "0A80"},	       // type NUMBERED_OPEN
				     {4, "01"},		       // access_mode rw
				     {8, "8877665544332211"},  // number
				     {16, "2F6465762F736461"}, // "/dev/sda"
				 });
const Bytes kClose = message(16, {{0, "0C80"}, {8, "8877665544332211"}});

int open_code(const Bytes &bytes, Transfer t = read(56), u32 features = feature::all)
{
	return code(parse_numbered_open(view(bytes), t, features));
}

} // namespace

TEST(NumberedOpen, Layout)
{
	const NumberedOpenRequest r =
	    parse_numbered_open(view(kOpen), read(56), feature::all).take();
	EXPECT_EQ(r.want.access_mode, AccessMode::ReadWrite);
	EXPECT_EQ(str(r.want.name.view()), "/dev/sda");
	EXPECT_EQ(r.number.value, kNumber.value);
	EXPECT_EQ(bytes_of(make_numbered_open(AccessMode::ReadWrite, r.want.name, kNumber)), kOpen);
}

TEST(NumberedOpen, Refusals)
{
	for (std::size_t n = 0; n < 272; n++)
		ASSERT_EQ(open_code(cut(kOpen, n)), -90) << n;
	Bytes longer = kOpen;
	longer.push_back(0);
	EXPECT_EQ(open_code(longer), -90);
	EXPECT_EQ(open_code(kOpen, read(55)), -90);
	EXPECT_EQ(open_code(kOpen, read(57)), 0);
	EXPECT_EQ(open_code(kOpen, write(56)), -22);
	EXPECT_EQ(open_code(with(kOpen, {{0, "0200"}})), -22);
	EXPECT_EQ(open_code(with(kOpen, {{8, "0000000000000000"}})), -22);
	EXPECT_EQ(open_code(with(kOpen, {{8, "0000000000000001"}})), 0);
}

TEST(NumberedOpen, AccessModeAndName)
{
	for (int mode = 0; mode < 256; mode++) {
		Bytes bytes = kOpen;
		bytes[4] = static_cast<u8>(mode);
		EXPECT_EQ(open_code(bytes), mode <= 3 ? 0 : -22) << mode;
		EXPECT_EQ(open_code(bytes, read(56), feature::open_numbers), mode <= 2 ? 0 : -22)
		    << mode;
	}
	EXPECT_EQ(open_code(with(kOpen, {{16, "00"}})), -22);
	Bytes full = kOpen;
	std::memset(full.data() + 16, 'n', 255);
	EXPECT_EQ(open_code(full), -22);
	full[270] = 0;
	EXPECT_EQ(parse_numbered_open(view(full), read(56), 0)->want.name.view().size(), 254u);
}

TEST(NumberedOpen, PaddingIsIgnored)
{
	const Bytes noise = with(kOpen, {{2, "FFFF"}, {5, "FFFFFF"}, {271, "FF"}});
	EXPECT_EQ(open_code(noise), 0);
}

TEST(NumberedClose, Layout)
{
	EXPECT_EQ(bytes_of(make_numbered_close(kNumber)), kClose);
	EXPECT_EQ(parse_numbered_close(view(kClose), write(0))->value, kNumber.value);
	EXPECT_EQ(parse_numbered_close(view(with(kClose, {{2, "FFFF"}, {4, "FFFFFFFF"}})), write(0))
		      ->value,
		  kNumber.value);
}

TEST(NumberedClose, Refusals)
{
	for (std::size_t n = 0; n < 16; n++)
		EXPECT_EQ(code(parse_numbered_close(view(cut(kClose, n)), write(0))), -90);
	EXPECT_EQ(code(parse_numbered_close(view(kClose), write(1))), -22);
	EXPECT_EQ(code(parse_numbered_close(view(kClose), read(0))), -22);
	EXPECT_EQ(code(parse_numbered_close(view(with(kClose, {{0, "0500"}})), write(0))), -22);
	EXPECT_EQ(
	    code(parse_numbered_close(view(with(kClose, {{8, "0000000000000000"}})), write(0))),
	    -22);
}
