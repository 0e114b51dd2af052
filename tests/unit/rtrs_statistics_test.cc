// SPDX-License-Identifier: GPL-2.0
// Classes of latencies and kinds of errors, as the statistics of a path show them.
#include <cxxrt/histogram.hh>
#include <rtrs/pure/path_errors.hh>

#include <set>

using namespace cxxrt;
using namespace rtrs;

TEST(Histogram, EachRowEndsBelowItsPowerOfTwo)
{
	constexpr u32 kRows = 8;
	EXPECT_EQ(histogram_row(0, kRows), 0u);
	EXPECT_EQ(histogram_row(1, kRows), 1u);
	for (u32 row = 1; row < kRows - 1; row++) {
		EXPECT_EQ(histogram_row((u64{1} << row) - 1, kRows), row);
		EXPECT_EQ(histogram_row(u64{1} << row, kRows), row + 1);
	}
}

TEST(Histogram, TheLastRowTakesTheRest)
{
	EXPECT_EQ(histogram_row(63, 8), 6u);
	EXPECT_EQ(histogram_row(64, 8), 7u);
	EXPECT_EQ(histogram_row(128, 8), 7u);
	EXPECT_EQ(histogram_row(~u64{0}, 8), 7u);
	EXPECT_EQ(histogram_row(~u64{0}, 65), 64u);
}

TEST(Histogram, Microseconds)
{
	EXPECT_EQ(microsecond_row(0), 0u);
	EXPECT_EQ(microsecond_row(999), 0u);
	EXPECT_EQ(microsecond_row(1000), 1u);
	EXPECT_EQ(microsecond_row(1999), 1u);
	EXPECT_EQ(microsecond_row(2000), 2u);
	EXPECT_EQ(microsecond_row(100'000), 7u);
	EXPECT_EQ(microsecond_row((u64{1} << 22) * 1000 - 1), 22u);
	EXPECT_EQ(microsecond_row((u64{1} << 22) * 1000), 23u);
	EXPECT_EQ(microsecond_row(~u64{0}), kMicrosecondRows - 1);
}

TEST(PathErrors, EachHasANameOfItsOwn)
{
	std::set<std::string> names;
	for (u32 i = 0; i < kPathErrors; i++)
		names.insert(to_text(static_cast<PathError>(i)));
	EXPECT_EQ(names.size(), kPathErrors);
	EXPECT_EQ(names.count("?"), 0u);
}
