// SPDX-License-Identifier: GPL-2.0
// Epochs and serials (protocol J.1).
#include <rtrs/pure/fence.hh>
#include <rtrs/wire/constants.hh>

using namespace rtrs;

TEST(Epoch, ComesLaterInACircle)
{
	EXPECT_TRUE(later_epoch(2, 1));
	EXPECT_FALSE(later_epoch(1, 2));
	EXPECT_FALSE(later_epoch(7, 7));
	EXPECT_TRUE(later_epoch(0, 0xffffffff));
	EXPECT_FALSE(later_epoch(0xffffffff, 0));
	EXPECT_TRUE(later_epoch(0x7fffffff, 0));
}

TEST(Fence, IsWaitedForAsLongAsTheProtocolSays)
{
	EXPECT_EQ(kFenceTimeoutMs, 30000u);
}

TEST(Serial, FitsAnImmediateAndIsNeverZero)
{
	EXPECT_EQ(next_serial(0), 1u);
	EXPECT_EQ(next_serial(1), 2u);
	EXPECT_EQ(next_serial((1u << 28) - 2), (1u << 28) - 1);
	EXPECT_EQ(next_serial((1u << 28) - 1), 1u);
	// It may begin anywhere.
	EXPECT_EQ(next_serial(0xffffffff), 1u);
	EXPECT_EQ(next_serial(0xf0000010), 0x11u);
}
