// SPDX-License-Identifier: GPL-2.0
// SESS_INFO, OPEN and CLOSE (protocol D.1, D.2, G.2).
#include <rnbd/wire/messages.hh>

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

const Bytes kSessionInfo = message(36, {{0, "0000"}, {4, "02"}});
const Bytes kOpen = message(264, {
				     {0, "0200"},	      // type OPEN
				     {4, "01"},		      // access_mode rw
				     {6, "2F6465762F736461"}, // "/dev/sda"
				 });
const Bytes kClose = message(8, {{0, "0500"}, {4, "78563412"}});

int open_code(const Bytes &bytes, Transfer t = read(56))
{
	return code(parse_open(view(bytes), t));
}

} // namespace

TEST(MessageType, OnlyWhatClientsSend)
{
	for (u32 type = 0; type < 65536; type++) {
		Bytes bytes = message(4, {{2, "FFFF"}});
		bytes[0] = static_cast<u8>(type);
		bytes[1] = static_cast<u8>(type >> 8);
		Result<MessageType> r = parse_message_type(view(bytes));
		bool good = type == 0 || type == 2 || type == 4 || type == 5;
		ASSERT_EQ(r.ok(), good) << type;
		if (good)
			ASSERT_EQ(static_cast<u32>(r.value()), type);
		else
			ASSERT_EQ(r.code(), -22);
	}
	for (std::size_t n = 0; n < 4; n++)
		EXPECT_EQ(code(parse_message_type(view(Bytes(n)))), -90);
}

TEST(SessionInfo, Version)
{
	EXPECT_EQ(bytes_of(make_session_info()), kSessionInfo);
	EXPECT_EQ(bytes_of(make_session_info_response(1)), message(36, {{0, "0100"}, {4, "01"}}));
	for (int v = 0; v < 256; v++) {
		Bytes question = kSessionInfo;
		question[4] = static_cast<u8>(v);
		EXPECT_EQ(parse_session_info(view(question), read(36)).value(), v < 2 ? v : 2);
		Bytes answer = with(question, {{0, "0100"}});
		EXPECT_EQ(parse_session_info_response(view(answer)).value(), v < 2 ? v : 2);
	}
}

TEST(SessionInfo, Refusals)
{
	for (std::size_t n = 0; n < 36; n++) {
		EXPECT_EQ(code(parse_session_info(view(cut(kSessionInfo, n)), read(36))), -90);
		EXPECT_EQ(code(parse_session_info_response(view(cut(kSessionInfo, n)))), -90);
	}
	EXPECT_EQ(code(parse_session_info(view(kSessionInfo), read(35))), -90);
	EXPECT_EQ(code(parse_session_info(view(kSessionInfo), read(0))), -90);
	EXPECT_EQ(code(parse_session_info(view(kSessionInfo), read(37))), 0);
	EXPECT_EQ(code(parse_session_info(view(kSessionInfo), write(36))), -22);
	EXPECT_EQ(code(parse_session_info(view(with(kSessionInfo, {{0, "0100"}})), read(36))), -22);
	EXPECT_EQ(code(parse_session_info_response(view(kSessionInfo))), -22);
}

TEST(SessionInfo, PaddingIsIgnored)
{
	Bytes bytes(36, 0xff);
	bytes = with(bytes, {{0, "0000"}, {4, "01"}});
	EXPECT_EQ(parse_session_info(view(bytes), read(36)).value(), 1);
}

TEST(Open, ReadsEveryField)
{
	Result<OpenRequest> r = parse_open(view(kOpen), read(56));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(r->access_mode, AccessMode::ReadWrite);
	EXPECT_EQ(str(r->name.view()), "/dev/sda");
	EXPECT_STREQ(r->name.c_str(), "/dev/sda");
	EXPECT_EQ(bytes_of(make_open(r->access_mode, r->name)), kOpen);
}

TEST(Open, PaddingIsIgnored)
{
	Bytes bytes(264, 0xff);
	bytes = with(bytes, {{0, "0200"}, {4, "00"}, {6, "6100"}});
	Result<OpenRequest> r = parse_open(view(bytes), read(56));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(str(r->name.view()), "a");
}

TEST(Open, LengthIsExact)
{
	for (std::size_t n = 0; n < 264; n++)
		EXPECT_EQ(open_code(cut(kOpen, n)), -90) << n;
	Bytes longer = kOpen;
	longer.push_back(0);
	EXPECT_EQ(open_code(longer), -90);
}

TEST(Open, RoomForTheAnswer)
{
	EXPECT_EQ(open_code(kOpen, read(55)), -90);
	EXPECT_EQ(open_code(kOpen, read(0)), -90);
	EXPECT_EQ(open_code(kOpen, read(57)), 0);
	EXPECT_EQ(open_code(kOpen, write(56)), -22);
	EXPECT_EQ(open_code(with(kOpen, {{0, "0400"}})), -22);
}

TEST(Open, AccessMode)
{
	for (int mode = 0; mode < 256; mode++) {
		Bytes bytes = kOpen;
		bytes[4] = static_cast<u8>(mode);
		EXPECT_EQ(open_code(bytes), mode <= 2 ? 0 : -22) << mode;
		EXPECT_EQ(code(parse_open(view(bytes), read(56), feature::shared_access)),
			  mode <= 3 ? 0 : -22)
		    << mode;
		EXPECT_EQ(
		    code(parse_open(view(bytes), read(56), feature::all & ~feature::shared_access)),
		    mode <= 2 ? 0 : -22)
		    << mode;
	}
	Bytes bytes = kOpen;
	bytes[4] = 3;
	const OpenRequest shared = parse_open(view(bytes), read(56), feature::all).take();
	EXPECT_EQ(shared.access_mode, AccessMode::Shared);
	EXPECT_EQ(bytes_of(make_open(AccessMode::Shared, shared.name)), bytes);
}

TEST(Open, AccessModeThatAPeerKnows)
{
	for (AccessMode m : {AccessMode::ReadOnly, AccessMode::ReadWrite, AccessMode::Migration}) {
		EXPECT_TRUE(knows_access(0, m));
		EXPECT_EQ(most_that_it_knows(0, m), m);
	}
	EXPECT_FALSE(knows_access(feature::all & ~feature::shared_access, AccessMode::Shared));
	EXPECT_TRUE(knows_access(feature::shared_access, AccessMode::Shared));
	EXPECT_EQ(most_that_it_knows(feature::discover, AccessMode::Shared), AccessMode::Migration);
	EXPECT_EQ(most_that_it_knows(feature::all, AccessMode::Shared), AccessMode::Shared);
}

TEST(Open, Name)
{
	EXPECT_EQ(open_code(with(kOpen, {{6, "00"}})), -22);
	Bytes full = kOpen;
	std::memset(full.data() + 6, 'n', 255);
	EXPECT_EQ(open_code(full), -22);
	// The byte behind the field is no terminator.
	full[261] = 0;
	EXPECT_EQ(open_code(full), -22);
	full[260] = 0;
	EXPECT_EQ(parse_open(view(full), read(56))->name.view().size(), 254u);
	for (int c = 1; c < 256; c++) {
		Bytes bytes = kOpen;
		bytes[8] = static_cast<u8>(c);
		EXPECT_EQ(open_code(bytes), c < 0x20 || c == 0x7f ? -22 : 0) << c;
	}
}

TEST(DeviceName, Length)
{
	EXPECT_TRUE(DeviceName::from(text(std::string(254, 'x'))).ok());
	EXPECT_EQ(code(DeviceName::from(text(std::string(255, 'x')))), -22);
	EXPECT_EQ(code(DeviceName::from("")), -22);
}

TEST(DeviceName, TakesNoMoreThanItsText)
{
	EXPECT_STREQ(DeviceName::from(TextView("abcdef").first(3))->c_str(), "abc");
}

TEST(Close, Layout)
{
	EXPECT_EQ(bytes_of(make_close(DeviceId{0x12345678})), kClose);
	EXPECT_EQ(parse_close(view(kClose), write(0))->value, 0x12345678u);
}

TEST(Close, Refusals)
{
	for (std::size_t n = 0; n < 8; n++)
		EXPECT_EQ(code(parse_close(view(cut(kClose, n)), write(0))), -90);
	EXPECT_EQ(code(parse_close(view(kClose), write(1))), -22);
	EXPECT_EQ(code(parse_close(view(kClose), read(0))), -22);
	EXPECT_EQ(code(parse_close(view(with(kClose, {{0, "0400"}})), write(0))), -22);
}
