// SPDX-License-Identifier: GPL-2.0
// Classes of latencies and kinds of errors, as the statistics of a path show them.
#include <cxxrt/histogram.hh>
#include <rtrs/pure/path_errors.hh>
#include <rtrs/pure/path_reason.hh>

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

TEST(PathReason, EachHasWordsOfItsOwn)
{
	std::set<std::string> words;
	u32 count = 0;
	for (; count <= static_cast<u32>(PathReason::Failed); count++)
		words.insert(to_text(static_cast<PathReason>(count)));
	EXPECT_EQ(words.size(), count);
	EXPECT_EQ(words.count("?"), 0u);
}

TEST(PathReason, KindAndErrno)
{
	struct Row {
		PathError kind;
		int error;
		const char *words;
	};
	const Row rows[] = {
	    {PathError::Connect, 110, "no answer"},
	    {PathError::Connect, 113, "no route"},
	    {PathError::Connect, 101, "no route"},
	    {PathError::Connect, 19, "no RDMA device"},
	    {PathError::Connect, 99, "no RDMA device"},
	    {PathError::Connect, 129, "proof not believed"},
	    {PathError::Connect, 103, "begun anew"},
	    {PathError::Connect, 12, "failed"},
	    {PathError::Disconnected, 104, "disconnected"},
	    {PathError::Disconnected, 113, "port down"},
	    {PathError::Disconnected, 19, "no RDMA device"},
	    {PathError::Disconnected, 11, "begun anew"},
	    {PathError::Disconnected, 129, "proof not believed"},
	    {PathError::Heartbeat, 110, "no heartbeat"},
	    {PathError::Timeout, 110, "no sign of life"},
	    {PathError::Completion, 104, "work request failed"},
	    {PathError::Post, 12, "work request failed"},
	    {PathError::Malformed, 71, "protocol violated"},
	};
	for (const Row &row : rows)
		EXPECT_STREQ(to_text(reason_of(row.kind, Error::from_errno(row.error))), row.words)
		    << static_cast<int>(row.kind) << " " << row.error;
	EXPECT_TRUE(names_errno(PathReason::Refused));
	EXPECT_FALSE(names_errno(PathReason::NoAnswer));
}
