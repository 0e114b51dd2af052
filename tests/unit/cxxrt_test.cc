// SPDX-License-Identifier: GPL-2.0
// The pure part of cxxrt.
#include <cxxrt/endian.hh>
#include <cxxrt/text.hh>

#include <limits>

using namespace cxxrt;

TEST(Error, IsNeverZero)
{
	EXPECT_EQ(Error::from_errno(22).code(), -22);
	EXPECT_EQ(Error::from_errno(0).code(), -5);
	EXPECT_EQ(Error::from_errno(-22).code(), -5);
	EXPECT_EQ(Error::from_code(-22).code(), -22);
	EXPECT_EQ(Error::from_code(-4095).code(), -4095);
	EXPECT_EQ(Error::from_code(-4096).code(), -5);
	EXPECT_EQ(Error::from_code(0).code(), -5);
	EXPECT_EQ(Error::from_code(1).code(), -5);
}

namespace {
// Counts living objects.
struct Tracked {
	static inline int alive = 0;
	int value;
	explicit Tracked(int v) : value(v) { alive++; }
	Tracked(Tracked &&o) : value(exchange(o.value, -1)) { alive++; }
	~Tracked() { alive--; }
};

Result<Tracked> make_tracked(int v)
{
	if (v < 0)
		return err::einval;
	return Tracked(v);
}

Result<int> twice(int v)
{
	Tracked t = TRY(make_tracked(v));
	return t.value * 2;
}

Status only_positive(int v)
{
	if (v <= 0)
		return err::erange;
	return {};
}

Result<int> checked(int v)
{
	TRY(only_positive(v));
	return v;
}
} // namespace

TEST(Result, CarriesAValueOrAnError)
{
	{
		Result<Tracked> good = make_tracked(7);
		ASSERT_TRUE(good.ok());
		EXPECT_EQ(good.code(), 0);
		EXPECT_EQ(good->value, 7);
		Result<Tracked> moved = move(good);
		EXPECT_EQ(moved.take().value, 7);
		Result<Tracked> bad = make_tracked(-1);
		EXPECT_FALSE(bad.ok());
		EXPECT_EQ(bad.error(), err::einval);
	}
	EXPECT_EQ(Tracked::alive, 0);
}

TEST(Result, TryPassesErrorsOn)
{
	EXPECT_EQ(twice(4).value(), 8);
	EXPECT_EQ(twice(-4).error(), err::einval);
	EXPECT_EQ(checked(3).value(), 3);
	EXPECT_EQ(checked(0).error(), err::erange);
	EXPECT_EQ(Tracked::alive, 0);
	EXPECT_TRUE(Status::from_code(0).ok());
	EXPECT_EQ(Status::from_code(-12).code(), -12);
	EXPECT_EQ(Status::from_code(3).code(), -5);
}

TEST(Endian, BytesLieAsDeclared)
{
	EXPECT_EQ(bytes_of(Le16(0x1bbd)), hex("BD1B"));
	EXPECT_EQ(bytes_of(Le32(0x01020304)), hex("04030201"));
	EXPECT_EQ(bytes_of(Le64(0x0102030405060708)), hex("0807060504030201"));
	EXPECT_EQ(bytes_of(Be32(0x01020304)), hex("01020304"));
	EXPECT_EQ(Be32(0xfffefdfc).get(), 0xfffefdfcu);
}

TEST(ByteView, ReadsOnlyWhatIsThere)
{
	const Bytes bytes = hex("0102030405");
	ByteView v = view(bytes);
	EXPECT_EQ(v.read<Le32>()->get(), 0x04030201u);
	EXPECT_EQ(v.read<Le32>(1)->get(), 0x05040302u);
	EXPECT_EQ(code(v.read<Le32>(2)), -90);
	EXPECT_EQ(code(v.read<Le32>(5)), -90);
	EXPECT_EQ(code(v.read<Le32>(6)), -90);
	EXPECT_EQ(code(v.read<Le32>(std::numeric_limits<std::size_t>::max())), -90);
	EXPECT_EQ(v.slice(5, 0)->size(), 0u);
	EXPECT_EQ(v.slice(1, 4)->data(), bytes.data() + 1);
	EXPECT_EQ(code(v.slice(1, 5)), -90);
	EXPECT_EQ(code(v.slice(6, 0)), -90);
	EXPECT_EQ(code(v.slice(1, std::numeric_limits<std::size_t>::max())), -90);
	EXPECT_EQ(code(ByteView().read<Le16>()), -90);
}

TEST(TextView, Basics)
{
	TextView t("path=x");
	EXPECT_EQ(t.size(), 6u);
	EXPECT_EQ(t.find('='), 4u);
	EXPECT_EQ(t.find('?'), 6u);
	EXPECT_TRUE(t.starts_with("path"));
	EXPECT_TRUE(t.starts_with("path=x"));
	EXPECT_FALSE(t.starts_with("path=xy"));
	EXPECT_EQ(str(t.skip(5)), "x");
	EXPECT_EQ(str(t.skip(7)), "");
	EXPECT_EQ(str(t.first(99)), "path=x");
	EXPECT_EQ(TextView::of("abc"), TextView("abc"));
	EXPECT_TRUE(TextView().empty());
}

TEST(Text, ParseInt)
{
	struct Case {
		const char *input;
		int code; // 0 or -errno
		int value;
	};
	const int min = std::numeric_limits<int>::min();
	const int max = std::numeric_limits<int>::max();
	const Case cases[] = {
	    {"0", 0, 0},
	    {"7\n", 0, 7},
	    {"+7", 0, 7},
	    {"-1", 0, -1},
	    {"007", 0, 7},
	    {"2147483647", 0, max},
	    {"2147483648", -34, 0},
	    {"-2147483648", 0, min},
	    {"-2147483649", -34, 0},
	    {"18446744073709551616", -34, 0},
	    {"", -22, 0},
	    {"\n", -22, 0},
	    {"7\n\n", -22, 0},
	    {" 7", -22, 0},
	    {"7 ", -22, 0},
	    {"-", -22, 0},
	    {"--1", -22, 0},
	    {"+-1", -22, 0},
	    {"0x7", -22, 0},
	    {"7a", -22, 0},
	    {"99999999999999999999a", -22, 0},
	};
	for (const Case &c : cases) {
		Result<int> r = parse_int(text(c.input), min, max);
		EXPECT_EQ(code(r), c.code) << c.input;
		if (r.ok()) {
			EXPECT_EQ(r.value(), c.value) << c.input;
		}
	}
	EXPECT_EQ(code(parse_int("9999", -1, 9999)), 0);
	EXPECT_EQ(code(parse_int("10000", -1, 9999)), -22);
	EXPECT_EQ(code(parse_int("-1", -1, 9999)), 0);
	EXPECT_EQ(code(parse_int("-2", -1, 9999)), -22);
}

TEST(Text, ParseUnsigned)
{
	EXPECT_EQ(parse_u64("0").value(), 0u);
	EXPECT_EQ(parse_u64("18446744073709551615\n").value(), ~0ull);
	EXPECT_EQ(code(parse_u64("18446744073709551616")), -34);
	EXPECT_EQ(parse_u64("0x1F").value(), 0x1fu);
	EXPECT_EQ(parse_u64("0XfF").value(), 0xffu);
	EXPECT_EQ(parse_u64("0xffffffffffffffff").value(), ~0ull);
	EXPECT_EQ(code(parse_u64("0x10000000000000000")), -34);
	EXPECT_EQ(parse_u64("017").value(), 15u);
	for (const char *bad : {"", "-1", "+1", "0x", "08", "1 ", "0xg", "f"})
		EXPECT_EQ(code(parse_u64(text(bad))), -22) << bad;
}

TEST(Text, ParseOne)
{
	EXPECT_TRUE(parse_one("1").ok());
	EXPECT_TRUE(parse_one("1\n").ok());
	for (const char *bad : {"", "\n", "0", "2", "11", "1 ", " 1", "1\n\n", "+1", "01", "y"})
		EXPECT_EQ(code(parse_one(text(bad))), -22) << bad;
	EXPECT_EQ(code(parse_one(TextView("1\0", 2))), -22);
}

TEST(Text, EqualIgnoringCase)
{
	EXPECT_TRUE(equal_ignoring_case("Round-Robin", "rOUND-rOBIN"));
	EXPECT_FALSE(equal_ignoring_case("round", "round-robin"));
	EXPECT_FALSE(equal_ignoring_case("[", "{"));
	EXPECT_TRUE(equal_ignoring_case("", ""));
}

TEST(Text, WriterStopsAtItsEnd)
{
	std::vector<char> memory(6, 'x');
	TextWriter w(memory.data(), memory.size());
	EXPECT_STREQ(memory.data(), "");
	w.put("abc").put_unsigned(12);
	EXPECT_FALSE(w.truncated());
	EXPECT_STREQ(memory.data(), "abc12");
	w.put('!');
	EXPECT_TRUE(w.truncated());
	EXPECT_STREQ(memory.data(), "abc12");
	EXPECT_EQ(w.size(), 5u);

	std::vector<char> one(1, 'x');
	TextWriter none(one.data(), one.size());
	none.put("a");
	EXPECT_TRUE(none.truncated());
	EXPECT_EQ(one[0], '\0');
}

TEST(Text, WriterNumbers)
{
	char memory[128];
	TextWriter w(memory, sizeof(memory));
	w.put_unsigned(0).put(' ').put_unsigned(~0ull).put(' ').put_signed(-1).put(' ').put_signed(
	    std::numeric_limits<long long>::min());
	EXPECT_EQ(str(w.text()), "0 18446744073709551615 -1 -9223372036854775808");
}
