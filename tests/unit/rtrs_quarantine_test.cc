// SPDX-License-Identifier: GPL-2.0
// How long a path that loses large packets stays out of use.
#include <rtrs/pure/quarantine.hh>

using namespace rtrs;

TEST(Quarantine, NobodyIsHeldWithoutAReason)
{
	const Quarantine q;
	EXPECT_EQ(q.rest(0), 0u);
	EXPECT_EQ(q.rest(~u64{0}), 0u);
}

TEST(Quarantine, AMinuteAndThenTwiceAsLongEachTime)
{
	Quarantine q;
	u64 now = 1000;
	for (const u64 seconds : {60, 120, 240, 480, 960, 960, 960}) {
		q.begin(now);
		EXPECT_EQ(q.rest(now), seconds);
		EXPECT_EQ(q.rest(now + seconds - 1), 1u);
		EXPECT_EQ(q.rest(now + seconds), 0u);
		now += seconds + 15; // until it has hung once more
	}
}

TEST(Quarantine, BeginsAnewForAPathThatWasGoodForAsLong)
{
	Quarantine q;
	q.begin(1000);
	q.begin(1060 + 59);
	EXPECT_EQ(q.rest(1119), 120u) << "a second short";
	q.begin(1119 + 120 + 120);
	EXPECT_EQ(q.rest(1359), 60u);
}

TEST(Quarantine, EndsByWord)
{
	Quarantine q;
	q.begin(5);
	q.begin(6);
	q.lift();
	EXPECT_EQ(q.rest(7), 0u);
	q.begin(7);
	EXPECT_EQ(q.rest(7), 60u) << "as if it were the first";
}

namespace {

constexpr Uuid uuid(u8 first)
{
	return {{first}};
}

} // namespace

TEST(Quarantines, EachPathHasItsOwn)
{
	Quarantines all;
	EXPECT_FALSE(all.refuses(uuid(1), 0, false));
	EXPECT_FALSE(all.refuses(uuid(0), 0, false)) << "what is free is nobody's";
	all.begin(uuid(1), 100);
	all.begin(uuid(2), 110);
	all.begin(uuid(1), 120);
	EXPECT_TRUE(all.refuses(uuid(1), 239, false));
	EXPECT_FALSE(all.refuses(uuid(1), 240, false));
	EXPECT_TRUE(all.refuses(uuid(2), 169, false));
	EXPECT_FALSE(all.refuses(uuid(2), 170, false));
	EXPECT_FALSE(all.refuses(uuid(3), 120, false));
}

TEST(Quarantines, TellOnceWhoKnows)
{
	Quarantines all;
	all.begin(uuid(1), 100);
	EXPECT_TRUE(all.refuses(uuid(1), 101, true));
	EXPECT_FALSE(all.refuses(uuid(1), 102, true)) << "his administrator has lifted it";
	EXPECT_TRUE(all.refuses(uuid(1), 103, false));
	all.begin(uuid(1), 110);
	EXPECT_TRUE(all.refuses(uuid(1), 111, true)) << "it has hung again";
	all.begin(uuid(2), 110);
	EXPECT_FALSE(all.refuses(uuid(2), 170, true)) << "it is over";
}

TEST(Quarantines, ForgetTheOneThatEndsFirst)
{
	Quarantines all;
	for (u8 n = 1; n <= 8; n++)
		all.begin(uuid(n), n == 5 ? 10 : 100 + n);
	all.begin(uuid(9), 200);
	EXPECT_FALSE(all.refuses(uuid(5), 11, false));
	EXPECT_TRUE(all.refuses(uuid(9), 259, false));
	for (const u8 n : {1, 2, 3, 4, 6, 7, 8})
		EXPECT_TRUE(all.refuses(uuid(n), 110, false)) << static_cast<int>(n);
	all.begin(uuid(5), 210);
	EXPECT_FALSE(all.refuses(uuid(5), 270, false)) << "as if it were the first";
}
