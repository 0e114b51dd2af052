// SPDX-License-Identifier: GPL-2.0
// Extensions (protocol D.5), and writes that no flush covered.
#include <rnbd/pure/unflushed.hh>
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

constexpr u64 kNonce = 0x1122334455667788;
constexpr u64 kInstance = 0xa1a2a3a4a5a6a7a8;

// "rnbd+ext"
const char *const kMagic = "726E62642B657874";

const Bytes kQuestion =
    message(36, {{0, "0000"}, {4, "02"}, {8, kMagic}, {16, "8877665544332211"}, {32, "03"}});
const Bytes kAnswer = message(36, {{0, "0100"},
				   {4, "02"},
				   {8, kMagic},
				   {16, "8877665544332211"},
				   {24, "A8A7A6A5A4A3A2A1"},
				   {32, "03"}});
} // namespace

TEST(Extension, Negotiation)
{
	EXPECT_EQ(bytes_of(make_extended_session_info(kNonce)), kQuestion);
	SessionInfo answer = make_session_info_response(2);
	EXPECT_EQ(answer_extension(view(kQuestion), kInstance, answer), feature::all);
	EXPECT_EQ(bytes_of(answer), kAnswer);
	const Extension e = parse_extension_response(view(kAnswer), kNonce);
	EXPECT_EQ(e.features, feature::all);
	EXPECT_EQ(e.instance, kInstance);
	EXPECT_TRUE(e.has(feature::identify));
	// The common part is what it was.
	EXPECT_EQ(parse_session_info(view(kQuestion), read(36)).value(), 2);
	EXPECT_EQ(parse_session_info_response(view(kAnswer)).value(), 2);
}

TEST(Extension, OlderClient)
{
	for (const Bytes &question :
	     {message(36, {{4, "02"}}), Bytes(36, 0xff), with(kQuestion, {{15, "00"}}),
	      with(kQuestion, {{8, "00"}})}) {
		SessionInfo answer = make_session_info_response(2);
		EXPECT_EQ(answer_extension(view(question), kInstance, answer), 0u);
		EXPECT_EQ(bytes_of(answer), bytes_of(make_session_info_response(2)));
	}
}

TEST(Extension, OlderServer)
{
	// Zeroes, anything, an answer that its memory still held.
	for (const Bytes &answer : {message(36, {{0, "0100"}, {4, "02"}}), Bytes(36, 0xa5),
				    with(kAnswer, {{16, "00"}})}) {
		const Extension e = parse_extension_response(view(answer), kNonce);
		EXPECT_EQ(e.features, 0u);
		EXPECT_EQ(e.instance, 0u);
		EXPECT_FALSE(e.has(feature::device_states));
	}
	for (unsigned n = 0; n < 36; n++)
		EXPECT_EQ(parse_extension_response(view(cut(kAnswer, n)), kNonce).features, 0u);
}

TEST(Extension, UnknownFeaturesAreNotAgreedOn)
{
	SessionInfo answer = make_session_info_response(2);
	const Bytes question = with(kQuestion, {{32, "FEFFFFFF"}});
	EXPECT_EQ(answer_extension(view(question), kInstance, answer), feature::identify);
	EXPECT_EQ(
	    parse_extension_response(view(with(kAnswer, {{32, "FDFFFFFF"}})), kNonce).features,
	    feature::device_states);
}

TEST(Extension, MessageTypesNeedTheAgreement)
{
	for (const char *type : {"0080", "0280"}) {
		const Bytes m = message(8, {{0, type}});
		EXPECT_EQ(code(parse_message_type(view(m))), -22);
		EXPECT_EQ(code(parse_message_type(view(m), true)), 0);
	}
	for (const char *type : {"0180", "0380", "0480", "0600", "0100"})
		EXPECT_EQ(code(parse_message_type(view(message(8, {{0, type}})), true)), -22);
}

TEST(DeviceStates, Question)
{
	const Bytes question = message(8, {{0, "0080"}, {4, "07"}});
	EXPECT_EQ(bytes_of(make_device_states(7)), question);
	EXPECT_EQ(parse_device_states(view(question), read(4096)).value(), 7u);
	EXPECT_EQ(code(parse_device_states(view(question), read(4095))), -90);
	EXPECT_EQ(code(parse_device_states(view(question), write(4096))), -22);
	EXPECT_EQ(code(parse_device_states(view(cut(question, 7)), read(4096))), -90);
	EXPECT_EQ(code(parse_device_states(view(with(question, {{0, "0280"}})), read(4096))), -22);
}

namespace {
// Two devices: 3, read-only, 16 sectors; 9, 2^32 sectors.
const Bytes kStates = message(48, {{0, "0180"},
				   {4, "02"},
				   {8, "FFFFFFFF"},
				   {16, "03"},
				   {20, "01"},
				   {24, "10"},
				   {32, "09"},
				   {44, "01"}});
} // namespace

TEST(DeviceStates, Answer)
{
	Bytes made = bytes_of(make_device_states_response(2, kNoMoreDevices));
	for (const DeviceCondition &c :
	     {DeviceCondition{{3}, {16}, true}, DeviceCondition{{9}, {u64{1} << 32}, false}}) {
		const Bytes entry = bytes_of(make_device_state(c));
		made.insert(made.end(), entry.begin(), entry.end());
	}
	EXPECT_EQ(made, kStates);

	Result<DeviceStatesView> parsed = DeviceStatesView::parse(view(kStates), 0);
	ASSERT_TRUE(parsed.ok());
	EXPECT_EQ(parsed->count(), 2u);
	EXPECT_EQ(parsed->next(), kNoMoreDevices);
	Result<DeviceCondition> three = parsed->find({3});
	ASSERT_TRUE(three.ok());
	EXPECT_EQ(three->capacity.value, 16u);
	EXPECT_TRUE(three->read_only);
	Result<DeviceCondition> nine = parsed->find({9});
	ASSERT_TRUE(nine.ok());
	EXPECT_EQ(nine->capacity.value, u64{1} << 32);
	EXPECT_FALSE(nine->read_only);
	EXPECT_EQ(code(parsed->find({4})), -2);
}

TEST(DeviceStates, BadAnswers)
{
	auto parse = [](const Bytes &b, u32 first = 0) {
		return DeviceStatesView::parse(view(b), first).code();
	};
	EXPECT_EQ(parse(kStates, 3), 0);
	EXPECT_EQ(parse(kStates, 4), -22) << "ids below the first that was asked for";
	for (unsigned n = 0; n < kStates.size(); n++)
		EXPECT_EQ(parse(cut(kStates, n)), -90) << n;
	EXPECT_EQ(parse(with(kStates, {{0, "0080"}})), -22);
	EXPECT_EQ(parse(with(kStates, {{4, "00010000"}})), -22) << "more than an answer holds";
	EXPECT_EQ(parse(with(kStates, {{4, "FFFFFFFF"}})), -22);
	EXPECT_EQ(parse(with(kStates, {{32, "03"}})), -22) << "an id twice";
	EXPECT_EQ(parse(with(kStates, {{32, "02"}})), -22) << "falling ids";
	EXPECT_EQ(parse(with(kStates, {{8, "09000000"}})), -22) << "an id that comes next";
	EXPECT_EQ(parse(with(kStates, {{8, "0A000000"}})), 0);
	const Bytes none = message(16, {{0, "0180"}, {8, "05000000"}});
	EXPECT_EQ(parse(none, 4), 0);
	EXPECT_EQ(parse(none, 5), -22) << "no way forward";
}

TEST(Identify, Messages)
{
	const Bytes question = message(8, {{0, "0280"}, {4, "05"}});
	EXPECT_EQ(bytes_of(make_identify({5})), question);
	EXPECT_EQ(parse_identify(view(question), read(128)).value().value, 5u);
	EXPECT_EQ(code(parse_identify(view(question), read(127))), -90);
	EXPECT_EQ(code(parse_identify(view(question), write(128))), -22);
	EXPECT_EQ(code(parse_identify(view(cut(question, 7)), read(128))), -90);

	const Bytes answer = message(128, {{0, "0380"}, {8, "6E61612E35"}});
	EXPECT_EQ(bytes_of(make_identify_response(Wwid::from(TextView("naa.5")))), answer);
	EXPECT_STREQ(parse_identify_response(view(answer)).value().c_str(), "naa.5");
	EXPECT_TRUE(parse_identify_response(view(message(128, {{0, "0380"}}))).value().empty());
	EXPECT_EQ(code(parse_identify_response(view(cut(answer, 127)))), -90);
	EXPECT_EQ(code(parse_identify_response(view(with(answer, {{0, "0280"}})))), -22);
	for (const char *bad : {"20", "0A", "2F", "80", "22", "7F"})
		EXPECT_EQ(code(parse_identify_response(view(with(answer, {{10, bad}})))), -22)
		    << bad;
	Bytes endless = answer;
	std::fill(endless.begin() + 8, endless.end(), 'x');
	EXPECT_EQ(code(parse_identify_response(view(endless))), -22);
}

TEST(Wwid, Text)
{
	EXPECT_STREQ(Wwid::from(TextView("a b/c\"d\n")).c_str(), "a_b_c_d_");
	const std::string longer(200, 'x');
	EXPECT_EQ(Wwid::from(text(longer)).view().size(), kWwidSize - 1);
	EXPECT_TRUE(Wwid::from(TextView("x")) == Wwid::from(TextView("x")));
	EXPECT_FALSE(Wwid::from(TextView("x")) == Wwid::from(TextView("xy")));
}

TEST(Unflushed, OnlyWhatNoFlushCovered)
{
	UnflushedWrites u;
	EXPECT_FALSE(u.server_restarted(true)) << "nothing was written";
	u.wrote();
	EXPECT_TRUE(u.begin_flush());
	EXPECT_FALSE(u.server_restarted(true)) << "all was flushed";
	u.wrote();
	EXPECT_TRUE(u.server_restarted(true));
	EXPECT_FALSE(u.begin_flush());
	EXPECT_FALSE(u.begin_flush()) << "for every flusher";
	EXPECT_FALSE(u.server_restarted(true)) << "told once";
	u.forget();
	EXPECT_TRUE(u.begin_flush());
}

TEST(Unflushed, AFlushThatFailedCoversNothing)
{
	UnflushedWrites u;
	u.wrote();
	EXPECT_TRUE(u.begin_flush());
	u.flush_failed();
	EXPECT_TRUE(u.server_restarted(true));
}

TEST(Unflushed, WritesDuringAFlushAreNotCovered)
{
	UnflushedWrites u;
	u.wrote();
	EXPECT_TRUE(u.begin_flush());
	u.wrote();
	EXPECT_TRUE(u.server_restarted(true));
}

TEST(Unflushed, NobodyToTell)
{
	UnflushedWrites u;
	u.wrote();
	EXPECT_FALSE(u.server_restarted(false));
	EXPECT_TRUE(u.begin_flush());
	EXPECT_FALSE(u.server_restarted(true));
}
