// SPDX-License-Identifier: GPL-2.0
// When a send queue is woken.
#include <rtrs/pure/sq_accounting.hh>
#include <rtrs/pure/sq_watchdog.hh>

using namespace rtrs;

TEST(SqWatchdog, LeavesAloneWhatMovesOrIsEmpty)
{
	SqWatchdog w;
	for (u64 n = 0; n < 100; n++)
		EXPECT_FALSE(w.look(n, n));
	for (u64 n = 100; n < 200; n++)
		EXPECT_FALSE(w.look(n + 3, n)) << "something has completed since";
}

TEST(SqWatchdog, WakesWhatStandsStill)
{
	SqWatchdog w;
	EXPECT_FALSE(w.look(5, 4)) << "the first look that sees so many";
	EXPECT_TRUE(w.look(5, 4));
}

// Of a device that forgot again behind the first wake-up, or of a link that is down for an hour.
TEST(SqWatchdog, TriesAgainEverMoreSeldom)
{
	SqWatchdog w;
	w.look(5, 4);
	u32 woken = 0;
	for (u32 look = 1; look <= 3600; look++) {
		const bool wake = w.look(5 + woken, 4);
		woken += wake;
		if (look <= 4) {
			EXPECT_EQ(wake, look != 3) << look;
		}
	}
	EXPECT_EQ(woken, 12);
	EXPECT_FALSE(w.look(17, 5));
	EXPECT_TRUE(w.look(17, 5)) << "it begins anew after a completion";
}

// The last requests of a burst ask for no completion, and the queue cannot know that they are done.
TEST(SqWatchdog, OnceAfterABurst)
{
	SqAccounting queue(64, 8, 4);
	SqWatchdog w;
	const auto look = [&] {
		return w.look(queue.place(), queue.completed());
	};
	for (u32 n = 0; n < 12; n++)
		queue.reserve(1);
	queue.retire();
	EXPECT_FALSE(look());
	ASSERT_TRUE(look());
	EXPECT_EQ(queue.reserve(1, true, 0), SendPermit::Signaled);
	queue.retire();
	for (u32 n = 0; n < 100; n++)
		EXPECT_FALSE(look());
}

TEST(SqWatchdog, KnowsHowLong)
{
	SqWatchdog w;
	EXPECT_EQ(w.stands_still(), 0u);
	w.look(5, 4);
	EXPECT_EQ(w.stands_still(), 0u);
	for (u64 n = 1; n <= 9; n++) {
		w.look(5 + n, 4);
		EXPECT_EQ(w.stands_still(), n) << "what is posted meanwhile does not count";
	}
	w.look(14, 5);
	EXPECT_EQ(w.stands_still(), 0u);
	w.look(14, 5);
	w.look(14, 14);
	EXPECT_EQ(w.stands_still(), 0u) << "idle";
}

TEST(SqWatchdog, KnowsWhetherItHelped)
{
	SqWatchdog w;
	w.look(5, 4, 5);
	ASSERT_TRUE(w.look(5, 4, 5));
	EXPECT_FALSE(w.helped()) << "not yet";
	w.look(6, 6, 6);
	EXPECT_TRUE(w.helped());
	w.look(6, 6, 6);
	EXPECT_FALSE(w.helped()) << "told once";
}

TEST(SqWatchdog, DoesNotHelpWhereNobodyWaits)
{
	SqWatchdog w;
	w.look(5, 4, 4);
	ASSERT_TRUE(w.look(5, 4, 4)) << "the end of a burst";
	w.look(5, 5, 5);
	EXPECT_FALSE(w.helped());
}

// It took longer than to the next look, or only a part of what was awaited has come.
TEST(SqWatchdog, DoesNotHelpLater)
{
	SqWatchdog w;
	w.look(9, 4, 9);
	ASSERT_TRUE(w.look(9, 4, 9));
	ASSERT_TRUE(w.look(10, 4, 10));
	w.look(11, 9, 11);
	EXPECT_FALSE(w.helped());

	SqWatchdog other;
	other.look(5, 4, 5);
	ASSERT_TRUE(other.look(5, 4, 5));
	ASSERT_TRUE(other.look(6, 4, 6));
	EXPECT_FALSE(other.look(7, 4, 7));
	other.look(7, 7, 7);
	EXPECT_FALSE(other.helped()) << "it was not woken at the last look";
}
