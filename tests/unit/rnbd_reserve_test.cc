// SPDX-License-Identifier: GPL-2.0
// RESERVE on the wire (protocol D.5).
#include <rnbd/wire/reserve.hh>

using namespace rnbd;

namespace {

constexpr int kInval = -22, kSize = -90;
constexpr Transfer read(u32 size)
{
	return {Transfer::Direction::Read, size};
}

const Bytes kRegister = message(40, {{0, "0880"},
				     {4, "05"},
				     {8, "0807060504030201"},
				     {16, "1100000000000010"},
				     {24, "2200000000000020"},
				     {32, "01"},
				     {34, "01"}});
// write exclusive, registrants only; one key
const Bytes kAnswer = message(
    40, {{0, "0980"}, {4, "07"}, {8, "03"}, {12, "02"}, {16, "11"}, {24, "11"}, {32, "22"}});

int parsed(const Bytes &m, Transfer t = read(4096))
{
	return code(parse_reserve(view(m), t));
}

int answered(const Bytes &m, ReserveOperation op = ReserveOperation::ReadKeys)
{
	return code(ReserveView::parse(view(m), op));
}

} // namespace

TEST(Reserve, Question)
{
	const ReserveRequest r{.operation = ReserveOperation::Register,
			       .type = ReservationType::None,
			       .ignore_key = true,
			       .serial = 0x0102030405060708,
			       .key = 0x1000000000000011,
			       .second_key = 0x2000000000000022};
	EXPECT_EQ(bytes_of(make_reserve({5}, r)), kRegister);
	const ReserveMessage m = parse_reserve(view(kRegister), read(24)).value();
	EXPECT_EQ(m.device.value, 5u);
	EXPECT_EQ(m.request.operation, ReserveOperation::Register);
	EXPECT_EQ(m.request.type, ReservationType::None);
	EXPECT_TRUE(m.request.ignore_key);
	EXPECT_EQ(m.request.serial, r.serial);
	EXPECT_EQ(m.request.key, r.key);
	EXPECT_EQ(m.request.second_key, r.second_key);
	// What is longer has a meaning that is not known yet.
	EXPECT_EQ(parsed(message(264, {{0, "0880"}, {8, "01"}, {32, "08"}})), 0);
}

TEST(Reserve, BadQuestions)
{
	for (unsigned n = 0; n < 40; n++)
		EXPECT_EQ(parsed(cut(kRegister, n)), kSize);
	EXPECT_EQ(parsed(kRegister, read(23)), kSize);
	EXPECT_EQ(parsed(kRegister, {Transfer::Direction::Write, 4096}), kInval);
	EXPECT_EQ(parsed(with(kRegister, {{0, "0680"}})), kInval);
	EXPECT_EQ(parsed(with(kRegister, {{8, "0000000000000000"}})), kInval); // serial
	EXPECT_EQ(parsed(with(kRegister, {{34, "02"}})), kInval);
	EXPECT_EQ(parsed(with(kRegister, {{34, "0180"}})), kInval);
	EXPECT_EQ(parsed(with(kRegister, {{36, "01"}})), kInval);
	for (const char *op : {"00", "09", "FF"})
		EXPECT_EQ(parsed(with(kRegister, {{32, op}, {34, "00"}})), kInval);
	const Bytes keys = message(40, {{0, "0880"}, {8, "01"}, {32, "07"}});
	EXPECT_EQ(parsed(keys), 0);
	EXPECT_EQ(parsed(keys, read(4095)), kSize);
}

// Each operation has some of the fields, and the others are 0.
TEST(Reserve, FieldsOfOperations)
{
	const struct {
		const char *number;
		bool type, second, ignore, key;
	} ops[] = {{"01", false, true, true, true},    {"02", true, false, false, true},
		   {"03", true, false, false, true},   {"04", true, true, false, true},
		   {"05", true, true, false, true},    {"06", false, false, false, true},
		   {"07", false, false, false, false}, {"08", false, false, false, false}};
	for (const auto &op : ops) {
		const Bytes m = message(
		    40, {{0, "0880"}, {8, "01"}, {32, op.number}, {33, op.type ? "06" : "00"}});
		EXPECT_EQ(parsed(m), 0) << op.number;
		EXPECT_EQ(parsed(with(m, {{33, op.type ? "00" : "01"}})), kInval) << op.number;
		EXPECT_EQ(parsed(with(m, {{33, "07"}})), kInval) << op.number;
		EXPECT_EQ(parsed(with(m, {{16, "01"}})), op.key ? 0 : kInval) << op.number;
		EXPECT_EQ(parsed(with(m, {{24, "01"}})), op.second ? 0 : kInval) << op.number;
		EXPECT_EQ(parsed(with(m, {{34, "01"}})), op.ignore ? 0 : kInval) << op.number;
	}
}

TEST(Reserve, Answer)
{
	const ReservationState state{7, ReservationType::WriteExclusiveRegistrants, 0x11};
	EXPECT_EQ(bytes_of(make_reserve_response(state, 2)), cut(kAnswer, 24));
	const ReserveView v = ReserveView::parse(view(kAnswer), ReserveOperation::ReadKeys).value();
	EXPECT_EQ(v.state().generation, 7u);
	EXPECT_EQ(v.state().type, ReservationType::WriteExclusiveRegistrants);
	EXPECT_EQ(v.state().holder, 0x11u);
	EXPECT_EQ(v.count(), 2u);
	EXPECT_EQ(v.key(0), 0x11u);
	EXPECT_EQ(v.key(1), 0x22u);
	EXPECT_EQ(answered(message(24, {{0, "0980"}}), ReserveOperation::Clear), 0);
	EXPECT_EQ(answered(message(24, {{0, "0980"}, {8, "06"}}), ReserveOperation::Reserve), 0);
}

TEST(Reserve, BadAnswers)
{
	for (unsigned n = 0; n < 40; n++)
		EXPECT_EQ(answered(cut(kAnswer, n)), kSize);
	EXPECT_EQ(answered(with(kAnswer, {{0, "0780"}})), kInval);
	EXPECT_EQ(answered(with(kAnswer, {{8, "07"}})), kInval);
	EXPECT_EQ(answered(with(kAnswer, {{8, "FF"}})), kInval);
	EXPECT_EQ(answered(with(kAnswer, {{8, "00"}})), kInval); // a holder of nothing
	EXPECT_EQ(answered(with(kAnswer, {{12, "03"}})), kSize);
	EXPECT_EQ(answered(with(kAnswer, {{12, "FFFFFFFF"}})), kInval);
	EXPECT_EQ(answered(with(kAnswer, {{12, "00000020"}})), kInval); // times 8 it is small
	EXPECT_EQ(answered(with(kAnswer, {{32, "00"}})), kInval);
	// Keys that nobody asked for.
	EXPECT_EQ(answered(kAnswer, ReserveOperation::Reserve), kInval);
	const Bytes most = with(Bytes(4096, 1), {{0, "0980"}, {8, "01"}, {12, "FD010000"}});
	EXPECT_EQ(answered(most), 0);
	EXPECT_EQ(answered(with(Bytes(4104, 1), {{0, "0980"}, {8, "01"}, {12, "FE010000"}})),
		  kInval);
}
