// SPDX-License-Identifier: GPL-2.0
// no_path_timeout: which requests wait, and how long.
#include <rnbd/pure/map_options.hh>
#include <rnbd/pure/no_path.hh>

#include <memory>

using namespace rnbd;

namespace {
using V = NoPathRule::Verdict;
constexpr u64 kSecond = 1'000'000'000;

NoPathRule rule(int timeout)
{
	NoPathRule r;
	r.set_timeout(timeout);
	return r;
}
} // namespace

TEST(NoPath, Text)
{
	const struct {
		std::string input;
		int code;
		int value;
	} cases[] = {
	    {"0", 0, 0},
	    {"-1", 0, -1},
	    {"60\n", 0, 60},
	    {"1000000", 0, 1000000},
	    {"1000001", -22, 0},
	    {"-2", -22, 0},
	    {"", -22, 0},
	    {"1s", -22, 0},
	    {"99999999999", -34, 0},
	};
	for (const auto &c : cases) {
		Result<int> got = parse_no_path_timeout(text(c.input));
		EXPECT_EQ(got.code(), c.code) << c.input;
		if (got.ok()) {
			EXPECT_EQ(got.value(), c.value) << c.input;
		}
	}
}

TEST(NoPath, MapOption)
{
	auto parsed = std::make_unique<MapOptions>();
	const std::string none = "sessname=s device_path=d";
	ASSERT_TRUE(parse_map_options(text(none), 1, *parsed).ok());
	EXPECT_EQ(parsed->no_path_timeout, 0);
	const std::string given = "no_path_timeout=-1 sessname=s device_path=d";
	ASSERT_TRUE(parse_map_options(text(given), 1, *parsed).ok());
	EXPECT_EQ(parsed->no_path_timeout, -1);
	for (const char *bad : {"-2", "x", "", "1000001"}) {
		const std::string input = none + " no_path_timeout=" + bad;
		EXPECT_EQ(parse_map_options(text(input), 1, *parsed).code(), -22) << bad;
	}
}

TEST(NoPath, FailsAtOnceByDefault)
{
	NoPathRule r;
	EXPECT_EQ(r.judge(0, 0), V::Fail);
	r.lose(5);
	EXPECT_EQ(r.judge(5, 5), V::Fail);
	EXPECT_TRUE(r.over(5));
	EXPECT_FALSE(r.limited());
}

TEST(NoPath, WaitsAsLongAsItMay)
{
	NoPathRule r = rule(10);
	EXPECT_EQ(r.judge(0, kSecond), V::Retry);
	EXPECT_EQ(r.judge(0, 10 * kSecond), V::Fail) << "a request that keeps meeting no path";
	r.lose(100 * kSecond);
	EXPECT_EQ(r.judge(0, 100 * kSecond), V::Wait) << "counts from the loss";
	EXPECT_TRUE(r.limited());
	EXPECT_EQ(r.left(103 * kSecond), 7 * kSecond);
	EXPECT_EQ(r.left(90 * kSecond), 10 * kSecond) << "a clock that was read before the loss";
	EXPECT_FALSE(r.over(110 * kSecond - 1));
	EXPECT_TRUE(r.over(110 * kSecond));
	EXPECT_EQ(r.left(111 * kSecond), 0u);
	EXPECT_EQ(r.judge(110 * kSecond, 110 * kSecond), V::Fail) << "new ones no longer wait";
	r.restore(150 * kSecond);
	EXPECT_FALSE(r.over(200 * kSecond));
	EXPECT_EQ(r.judge(200 * kSecond, 200 * kSecond), V::Retry);
	r.lose(300 * kSecond);
	EXPECT_EQ(r.judge(300 * kSecond, 301 * kSecond), V::Wait) << "each loss has its own time";
}

// The transport ends requests first and tells of the loss afterwards: a request that was sent 35 s
// before, and hears of it first, waits like any other.
TEST(NoPath, AgeFailsNothing)
{
	NoPathRule r = rule(30);
	EXPECT_EQ(r.judge(100 * kSecond, 100 * kSecond), V::Retry) << "before the news";
	EXPECT_EQ(r.judge(100 * kSecond, 101 * kSecond), V::Retry) << "nor have they come now";
	r.lose(101 * kSecond);
	EXPECT_EQ(r.judge(100 * kSecond, 131 * kSecond - 1), V::Wait);
	EXPECT_EQ(r.judge(100 * kSecond, 131 * kSecond), V::Fail);
}

TEST(NoPath, NewsThatNeverComeAreNotWaitedForLonger)
{
	NoPathRule r = rule(30);
	EXPECT_EQ(r.judge(100 * kSecond, 130 * kSecond - 1), V::Retry);
	EXPECT_EQ(r.judge(100 * kSecond, 130 * kSecond), V::Fail);
	EXPECT_EQ(r.judge(130 * kSecond, 130 * kSecond), V::Retry) << "each has its own time";
}

TEST(NoPath, ATimeThatIsOverIsForgottenWhenThePathIsBack)
{
	NoPathRule r = rule(30);
	r.lose(100 * kSecond);
	r.restore(125 * kSecond);
	EXPECT_EQ(r.judge(100 * kSecond, 131 * kSecond), V::Retry) << "missed before, and again";
	EXPECT_EQ(r.judge(100 * kSecond, 155 * kSecond), V::Fail);
}

TEST(NoPath, ForEver)
{
	NoPathRule r = rule(kNoPathForever);
	r.lose(0);
	EXPECT_EQ(r.judge(0, ~u64{0}), V::Wait);
	EXPECT_FALSE(r.over(~u64{0}));
	EXPECT_FALSE(r.limited());
	r.restore(1);
	EXPECT_EQ(r.judge(0, ~u64{0}), V::Retry);
}

TEST(NoPath, ChangeWhileItWaits)
{
	NoPathRule r = rule(kNoPathForever);
	r.lose(0);
	r.set_timeout(0);
	EXPECT_TRUE(r.over(1));
	r.set_timeout(5);
	EXPECT_FALSE(r.over(kSecond));
	EXPECT_EQ(r.left(kSecond), 4 * kSecond);
}

TEST(NoPath, ARejectedDeviceIsNotWaitedFor)
{
	NoPathRule r = rule(kNoPathForever);
	r.reject();
	EXPECT_EQ(r.judge(0, 0), V::Fail);
	EXPECT_TRUE(r.over(0));
	r.lose(0);
	EXPECT_EQ(r.judge(0, 0), V::Fail) << "nor when the path goes, too";
	EXPECT_FALSE(r.limited());
	r.restore(1);
	EXPECT_EQ(r.judge(0, 0), V::Retry);
}

TEST(NoPath, EndIsFinal)
{
	NoPathRule r = rule(kNoPathForever);
	r.lose(0);
	r.end();
	EXPECT_TRUE(r.over(0));
	EXPECT_FALSE(r.limited());
	EXPECT_EQ(r.judge(0, 0), V::Fail);
	r.restore(1);
	EXPECT_TRUE(r.over(0));
	EXPECT_EQ(r.judge(0, 0), V::Fail);
}
