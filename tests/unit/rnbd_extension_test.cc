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
constexpr Extension kServer{.features = feature::all, .instance = kInstance};

Wwid wwid(std::string_view t)
{
	return Wwid::from(text(t)).value();
}

// "rnbd+ext"
const char *const kMagic = "726E62642B657874";

const Bytes kQuestion =
    message(36, {{0, "0000"}, {4, "02"}, {8, kMagic}, {16, "8877665544332211"}, {32, "FF01"}});
const Bytes kAnswer = message(36, {{0, "0100"},
				   {4, "02"},
				   {8, kMagic},
				   {16, "8877665544332211"},
				   {24, "A8A7A6A5A4A3A2A1"},
				   {32, "FF01"}});
} // namespace

TEST(Extension, Negotiation)
{
	EXPECT_EQ(bytes_of(make_extended_session_info(kNonce)), kQuestion);
	SessionInfo answer = make_session_info_response(2);
	EXPECT_EQ(answer_extension(view(kQuestion), kServer, answer), feature::all);
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
		EXPECT_EQ(answer_extension(view(question), kServer, answer), 0u);
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
	EXPECT_EQ(answer_extension(view(question), kServer, answer),
		  feature::all & ~feature::device_states);
	EXPECT_EQ(
	    parse_extension_response(view(with(kAnswer, {{32, "FDFFFFFF"}})), kNonce).features,
	    feature::all & ~feature::identify);
}

TEST(Extension, AServerConfirmsWhatItHas)
{
	SessionInfo answer = make_session_info_response(2);
	const Extension lesser{.features = feature::device_states, .instance = kInstance};
	EXPECT_EQ(answer_extension(view(kQuestion), lesser, answer), feature::device_states);
	EXPECT_EQ(bytes_of(answer), with(kAnswer, {{32, "0100"}}));
}

TEST(Extension, MessageTypesNeedTheAgreement)
{
	const struct {
		const char *type;
		u32 feature;
	} kOwn[] = {{"0080", feature::device_states}, {"0280", feature::identify},
		    {"0480", feature::device_limits}, {"0680", feature::discover},
		    {"0880", feature::reservations},  {"0A80", feature::open_numbers},
		    {"0C80", feature::open_numbers}};
	for (const auto &own : kOwn) {
		const Bytes m = message(8, {{0, own.type}});
		EXPECT_EQ(code(parse_message_type(view(m))), -22);
		EXPECT_EQ(code(parse_message_type(view(m), feature::all & ~own.feature)), -22);
		EXPECT_EQ(code(parse_message_type(view(m), own.feature)), 0);
	}
	for (const char *type : {"0180", "0380", "0580", "0780", "0980", "0B80", "0600", "0100"})
		EXPECT_EQ(code(parse_message_type(view(message(8, {{0, type}})), ~0u)), -22);
}

TEST(DeviceStates, Question)
{
	const Bytes question = message(12, {{0, "0080"}, {4, "07"}, {8, "04030201"}});
	EXPECT_EQ(bytes_of(make_device_states(7, 0x01020304)), question);
	EXPECT_EQ(parse_device_states(view(question), read(4096)).value().first, 7u);
	EXPECT_EQ(parse_device_states(view(question), read(4096)).value().followed, 0x01020304u);
	// Of a client that does not follow the cache.
	EXPECT_EQ(parse_device_states(view(cut(question, 8)), read(4096)).value().first, 7u);
	EXPECT_EQ(parse_device_states(view(cut(question, 8)), read(4096)).value().followed, 0u);
	EXPECT_EQ(code(parse_device_states(view(question), read(4095))), -90);
	EXPECT_EQ(code(parse_device_states(view(question), write(4096))), -22);
	EXPECT_EQ(code(parse_device_states(view(cut(question, 7)), read(4096))), -90);
	EXPECT_EQ(code(parse_device_states(view(with(question, {{0, "0280"}})), read(4096))), -22);
}

namespace {
// Answer 0x11: two devices: 3, read-only, 16 sectors; 9, 2^32 sectors, with a cache that can FUA.
const Bytes kStates = message(48, {{0, "0180"},
				   {4, "02"},
				   {8, "FFFFFFFF"},
				   {12, "11"},
				   {16, "03"},
				   {20, "01"},
				   {24, "10"},
				   {32, "09"},
				   {36, "06"},
				   {44, "01"}});
} // namespace

TEST(DeviceStates, Answer)
{
	Bytes made = bytes_of(make_device_states_response(2, kNoMoreDevices, 0x11));
	for (const DeviceCondition &c : {DeviceCondition{{3}, {16}, true, false, false},
					 DeviceCondition{{9}, {u64{1} << 32}, false, true, true}}) {
		const Bytes entry = bytes_of(make_device_state(c));
		made.insert(made.end(), entry.begin(), entry.end());
	}
	EXPECT_EQ(made, kStates);

	Result<DeviceStatesView> parsed = DeviceStatesView::parse(view(kStates), 0);
	ASSERT_TRUE(parsed.ok());
	EXPECT_EQ(parsed->count(), 2u);
	EXPECT_EQ(parsed->next(), kNoMoreDevices);
	EXPECT_EQ(parsed->serial(), 0x11u);
	Result<DeviceCondition> three = parsed->find({3});
	ASSERT_TRUE(three.ok());
	EXPECT_EQ(three->capacity.value, 16u);
	EXPECT_TRUE(three->read_only);
	EXPECT_FALSE(three->writeback);
	EXPECT_FALSE(three->fua);
	Result<DeviceCondition> nine = parsed->find({9});
	ASSERT_TRUE(nine.ok());
	EXPECT_EQ(nine->capacity.value, u64{1} << 32);
	EXPECT_FALSE(nine->read_only);
	EXPECT_TRUE(nine->writeback);
	EXPECT_TRUE(nine->fua);
	EXPECT_EQ(code(parsed->find({4})), -2);
}

TEST(DeviceStates, FuaWithoutACacheSaysNothing)
{
	const Bytes states = with(kStates, {{36, "04"}});
	Result<DeviceStatesView> parsed = DeviceStatesView::parse(view(states), 0);
	ASSERT_TRUE(parsed.ok());
	EXPECT_FALSE(parsed->find({9})->writeback);
	EXPECT_FALSE(parsed->find({9})->fua);
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

TEST(Discover, Question)
{
	const Bytes question = message(8, {{0, "0680"}, {4, "07"}});
	EXPECT_EQ(bytes_of(make_discover(7)), question);
	EXPECT_EQ(parse_discover(view(question), read(4096)).value(), 7u);
	EXPECT_EQ(code(parse_discover(view(question), read(4095))), -90);
	EXPECT_EQ(code(parse_discover(view(question), write(4096))), -22);
	EXPECT_EQ(code(parse_discover(view(cut(question, 7)), read(4096))), -90);
	EXPECT_EQ(code(parse_discover(view(with(question, {{0, "0280"}})), read(4096))), -22);
}

namespace {
// Two exports: 3, "one", rw, 16 sectors, open here; 9, "t w", ro, no device, open elsewhere to
// write.
const Bytes kExports = message(16 + 2 * 272, {{0, "0780"},
					      {4, "02"},
					      {8, "FFFFFFFF"},
					      {12, "01"},
					      {16, "03"},
					      {20, "01"},
					      {21, "02"},
					      {24, "10"},
					      {32, "6F6E65"},
					      {288, "09"},
					      {293, "0D"},
					      {304, "742077"}});
} // namespace

TEST(Discover, Answer)
{
	Bytes made = bytes_of(make_discover_response(2, kNoMoreExports, true));
	const DiscoveredExport one{.number = 3,
				   .access = AccessMode::ReadWrite,
				   .no_device = false,
				   .openers = {true, false, false},
				   .capacity = {16}};
	// A device that is not there has no size.
	const DiscoveredExport two{.number = 9,
				   .access = AccessMode::ReadOnly,
				   .no_device = true,
				   .openers = {false, true, true},
				   .capacity = {5}};
	for (const Bytes &entry : {bytes_of(make_discover_entry(one, TextView("one"))),
				   bytes_of(make_discover_entry(two, TextView("t w")))})
		made.insert(made.end(), entry.begin(), entry.end());
	EXPECT_EQ(made, kExports);

	Result<DiscoverView> parsed = DiscoverView::parse(view(kExports), 0);
	ASSERT_TRUE(parsed.ok());
	EXPECT_EQ(parsed->count(), 2u);
	EXPECT_EQ(parsed->next(), kNoMoreExports);
	EXPECT_TRUE(parsed->paths_too());
	EXPECT_EQ((*parsed)[0].number, 3u);
	EXPECT_EQ((*parsed)[0].access, AccessMode::ReadWrite);
	EXPECT_EQ((*parsed)[0].capacity.value, 16u);
	EXPECT_TRUE((*parsed)[0].openers.here);
	EXPECT_FALSE((*parsed)[0].no_device);
	EXPECT_FALSE((*parsed)[0].openers.elsewhere);
	EXPECT_STREQ(parsed->name(0).value().c_str(), "one");
	EXPECT_EQ((*parsed)[1].access, AccessMode::ReadOnly);
	EXPECT_TRUE((*parsed)[1].no_device);
	EXPECT_FALSE((*parsed)[1].openers.here);
	EXPECT_TRUE((*parsed)[1].openers.elsewhere);
	EXPECT_TRUE((*parsed)[1].openers.written_elsewhere);
	EXPECT_STREQ(parsed->name(1).value().c_str(), "t w");
	EXPECT_FALSE(DiscoverView::parse(view(with(kExports, {{12, "FE"}})), 0)->paths_too())
	    << "flags of later servers";
}

TEST(Discover, APageIsFull)
{
	EXPECT_EQ(kMaxDiscoverEntries, 15u);
	EXPECT_EQ(sizeof(DiscoverResponse) + kMaxDiscoverEntries * sizeof(DiscoverEntry), 4096u);
	const std::string longest(254, 'x');
	const Bytes entry = bytes_of(make_discover_entry({}, text(longest)));
	EXPECT_EQ(entry[16 + 253], 'x');
	EXPECT_EQ(entry[16 + 254], 0);
	EXPECT_EQ(entry[16 + 255], 0);
}

TEST(Discover, BadAnswers)
{
	auto parse = [](const Bytes &b, u32 first = 0) {
		return DiscoverView::parse(view(b), first).code();
	};
	EXPECT_EQ(parse(kExports, 3), 0);
	EXPECT_EQ(parse(kExports, 4), -22) << "numbers below the first that was asked for";
	for (unsigned n = 0; n < kExports.size(); n++)
		EXPECT_EQ(parse(cut(kExports, n)), -90) << n;
	EXPECT_EQ(parse(with(kExports, {{0, "0680"}})), -22);
	EXPECT_EQ(parse(with(kExports, {{4, "10"}})), -22) << "more than an answer holds";
	EXPECT_EQ(parse(with(kExports, {{4, "FFFFFFFF"}})), -22);
	EXPECT_EQ(parse(with(kExports, {{288, "03"}})), -22) << "a number twice";
	EXPECT_EQ(parse(with(kExports, {{288, "02"}})), -22) << "falling numbers";
	EXPECT_EQ(parse(with(kExports, {{8, "09000000"}})), -22) << "a number that comes next";
	EXPECT_EQ(parse(with(kExports, {{8, "0A000000"}})), 0);
	EXPECT_EQ(parse(with(kExports, {{20, "03"}})), 0) << "shared";
	EXPECT_EQ(parse(with(kExports, {{20, "04"}})), -22) << "no access mode";
	EXPECT_EQ(parse(with(kExports, {{31, "01"}})), -22) << "more sectors than there are";
	EXPECT_EQ(parse(with(kExports, {{32, "00"}})), -22) << "no name";
	for (const char *bad : {"0A", "1B", "7F"})
		EXPECT_EQ(parse(with(kExports, {{33, bad}})), -22) << bad;
	Bytes endless = kExports;
	std::fill(endless.begin() + 32, endless.begin() + 288, 'x');
	EXPECT_EQ(parse(endless), -22);
	endless[32 + 254] = 0;
	EXPECT_EQ(parse(endless), 0);
	const Bytes none = message(16, {{0, "0780"}, {8, "05000000"}});
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

	const Bytes answer = message(128, {{0, "0380"}, {4, "0A0B0C0D"}, {8, "6E61612E35"}});
	EXPECT_EQ(bytes_of(make_identify_response({wwid("naa.5"), 0x0d0c0b0a})), answer);
	EXPECT_STREQ(parse_identify_response(view(answer)).value().wwid.c_str(), "naa.5");
	EXPECT_EQ(parse_identify_response(view(answer)).value().losses, 0x0d0c0b0au);
	EXPECT_FALSE(parse_identify_response(view(answer)).value().configured);
	const Bytes configured = with(answer, {{2, "01"}});
	EXPECT_EQ(bytes_of(make_identify_response({wwid("naa.5"), 0x0d0c0b0a, true})), configured);
	EXPECT_TRUE(parse_identify_response(view(configured)).value().configured);
	EXPECT_FALSE(parse_identify_response(view(with(answer, {{2, "FEFF"}}))).value().configured)
	    << "flags of later servers";
	EXPECT_TRUE(
	    parse_identify_response(view(message(128, {{0, "0380"}}))).value().wwid.empty());
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
	EXPECT_STREQ(wwid("a b/c\"d\n").c_str(), "a_b_c_d_");
	const std::string longest(kWwidSize - 1, 'x');
	EXPECT_STREQ(wwid("a'b\\c\x7f").c_str(), "a_b_c_");
	EXPECT_EQ(str(wwid(longest).view()), longest);
	EXPECT_EQ(code(Wwid::from(text(longest + "y"))), -36) << "never cut";
	EXPECT_TRUE(wwid("x") == wwid("x"));
	EXPECT_FALSE(wwid("x") == wwid("xy"));
	EXPECT_EQ(code(Wwid::parse(TextView("a b"))), -22);
	EXPECT_EQ(code(Wwid::parse(TextView("a'b"))), -22);
	EXPECT_EQ(code(Wwid::parse(text(longest + "y"))), -36);
}

TEST(Wwid, AsNameOfADevice)
{
	Result<DeviceName> name = make_wwid_name(wwid("naa.5"));
	ASSERT_TRUE(name.ok());
	EXPECT_STREQ(name->c_str(), "wwid:naa.5");
	EXPECT_TRUE(parse_wwid_name(name->view()).value() == wwid("naa.5"));
	EXPECT_EQ(code(make_wwid_name(Wwid())), -22);
	const Wwid longest = wwid(std::string(kWwidSize - 1, 'x'));
	EXPECT_TRUE(parse_wwid_name(make_wwid_name(longest).value().view()).value() == longest);
	for (const char *other : {"", "wwid", "wwid:", "WWID:x", "vdb", "xwwid:y"}) {
		EXPECT_FALSE(is_wwid_name(TextView::of(other))) << other;
		EXPECT_EQ(code(parse_wwid_name(TextView::of(other))), -22) << other;
	}
	EXPECT_EQ(code(parse_wwid_name(TextView("wwid:a/b"))), -22);
	EXPECT_EQ(code(parse_wwid_name(text("wwid:" + std::string(kWwidSize, 'x')))), -22);
}

TEST(DeviceLimits, Messages)
{
	const Bytes question = message(8, {{0, "0480"}, {4, "05"}});
	EXPECT_EQ(bytes_of(make_device_limits({5})), question);
	EXPECT_EQ(parse_device_limits(view(question), read(64)).value().value, 5u);
	EXPECT_EQ(code(parse_device_limits(view(question), read(63))), -90);
	EXPECT_EQ(code(parse_device_limits(view(question), write(64))), -22);
	EXPECT_EQ(code(parse_device_limits(view(cut(question, 7)), read(64))), -90);
	EXPECT_EQ(code(parse_device_limits(view(with(question, {{0, "0280"}})), read(64))), -22);

	// 4 KiB blocks, chunks of 64 KiB, stripes of 256 KiB, which begin at 3.5 KiB.
	const Bytes answer = message(64, {{0, "0580"},
					  {4, "00100000"},
					  {8, "00000100"},
					  {12, "00000400"},
					  {16, "000E0000"},
					  {20, "01"}});
	EXPECT_EQ(bytes_of(make_device_limits_response({4096, 65536, 262144, 3584, true})), answer);
	const DeviceTopology t = parse_device_limits_response(view(answer), 512).value();
	EXPECT_EQ(t.physical_block_size, 4096u);
	EXPECT_EQ(t.io_min, 65536u);
	EXPECT_EQ(t.io_opt, 262144u);
	EXPECT_EQ(t.alignment_offset, 3584);
	EXPECT_TRUE(t.rotational);
	EXPECT_EQ(code(parse_device_limits_response(view(cut(answer, 63)), 512)), -90);
	EXPECT_EQ(code(parse_device_limits_response(view(with(answer, {{0, "0480"}})), 512)), -22);
}

TEST(DeviceLimits, Misaligned)
{
	const Bytes answer = bytes_of(make_device_limits_response({4096, 4096, 0, -1, false}));
	EXPECT_EQ(answer, with(answer, {{16, "FFFFFFFF"}}));
	const DeviceTopology t = parse_device_limits_response(view(answer), 512).value();
	EXPECT_EQ(t.alignment_offset, kMisaligned);
	EXPECT_EQ(t.io_opt, 0u);
	EXPECT_FALSE(t.rotational);
}

TEST(DeviceLimits, NonsenseSaysNothing)
{
	// Each field alone, of a device with 4 KiB blocks.
	auto parse = [](const DeviceTopology &t) {
		return parse_device_limits_response(view(bytes_of(make_device_limits_response(t))),
						    4096)
		    .value();
	};
	for (const u32 bad : {0u, 1u, 512u, 4097u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
		EXPECT_EQ(parse({bad, 4096, 8192, 0, false}).physical_block_size, 4096u) << bad;
		EXPECT_EQ(parse({4096, bad, 8192, 0, false}).io_min, 4096u) << bad;
		EXPECT_EQ(parse({4096, 4096, bad, 0, false}).io_opt, 0u) << bad;
	}
	EXPECT_EQ(parse({12288, 4096, 0, 0, false}).physical_block_size, 4096u);
	EXPECT_EQ(parse({16384, 4096, 0, 0, false}).io_min, 16384u) << "less than a block";
	for (const s32 bad : {512, 4096, -2, -4096})
		EXPECT_EQ(parse({4096, 4096, 0, bad, false}).alignment_offset, 0) << bad;
}

TEST(Unflushed, OnlyWhatNoFlushCovered)
{
	UnflushedWrites u;
	EXPECT_FALSE(u.server_restarted(true, true)) << "nothing was written";
	u.wrote();
	EXPECT_TRUE(u.begin_flush());
	EXPECT_FALSE(u.server_restarted(true, true)) << "all was flushed";
	u.wrote();
	EXPECT_TRUE(u.server_restarted(true, true));
	EXPECT_FALSE(u.begin_flush());
	EXPECT_FALSE(u.begin_flush()) << "for every flusher";
	EXPECT_FALSE(u.server_restarted(true, true)) << "told once";
	u.forget();
	EXPECT_TRUE(u.begin_flush());
}

TEST(Unflushed, AFlushThatFailedCoversNothing)
{
	UnflushedWrites u;
	u.wrote();
	EXPECT_TRUE(u.begin_flush());
	u.flush_failed();
	EXPECT_TRUE(u.server_restarted(true, true));
}

TEST(Unflushed, WritesDuringAFlushAreNotCovered)
{
	UnflushedWrites u;
	u.wrote();
	EXPECT_TRUE(u.begin_flush());
	u.wrote();
	EXPECT_TRUE(u.server_restarted(true, true));
}

TEST(Unflushed, WritesThatAreOnTheirWay)
{
	UnflushedWrites u;
	EXPECT_FALSE(u.server_restarted(false, false)) << "whose, if nobody has it open?";
	EXPECT_TRUE(u.server_restarted(true, false));
	EXPECT_FALSE(u.begin_flush());
}

TEST(Unflushed, NobodyToTell)
{
	UnflushedWrites u;
	u.wrote();
	EXPECT_FALSE(u.server_restarted(false, true));
	EXPECT_TRUE(u.begin_flush());
	EXPECT_FALSE(u.server_restarted(true, true));
}
