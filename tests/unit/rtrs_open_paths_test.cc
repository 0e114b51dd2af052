// SPDX-License-Identifier: GPL-2.0
// How many paths of a session are open, and its end (protocol J.1).
#include <atomic>
#include <thread>

#include <rtrs/pure/open_paths.hh>

using namespace rtrs;
using Entry = OpenPaths::Entry;

TEST(OpenPaths, WaitForTheFirst)
{
	OpenPaths paths;
	EXPECT_FALSE(paths.ended());
	EXPECT_EQ(paths.enter(), Entry::Entered);
	EXPECT_FALSE(paths.ended());
}

TEST(OpenPaths, EndForGoodWithTheLast)
{
	OpenPaths paths;
	EXPECT_EQ(paths.enter(), Entry::Entered);
	EXPECT_EQ(paths.enter(), Entry::Entered);
	paths.leave();
	EXPECT_FALSE(paths.ended());
	EXPECT_EQ(paths.enter(), Entry::Entered);
	paths.leave();
	paths.leave();
	EXPECT_TRUE(paths.ended());
	EXPECT_EQ(paths.enter(), Entry::Ended);
	EXPECT_TRUE(paths.ended());
}

TEST(OpenPaths, AreAsManyAsTheProtocolAllows)
{
	OpenPaths paths;
	for (u32 i = 0; i < kMaxPaths; i++)
		ASSERT_EQ(paths.enter(), Entry::Entered);
	EXPECT_EQ(paths.enter(), Entry::Full);
	paths.leave();
	EXPECT_EQ(paths.enter(), Entry::Entered);
}

// The last one goes while others come: they are in, or the session has ended, never both.
TEST(OpenPaths, NobodyEntersWhatHasEnded)
{
	for (int round = 0; round < 2000; round++) {
		OpenPaths paths;
		ASSERT_EQ(paths.enter(), Entry::Entered);
		std::atomic<int> entered = 0;
		std::thread other([&] {
			for (int i = 0; i < 3; i++)
				entered += paths.enter() == Entry::Entered;
		});
		paths.leave();
		other.join();
		EXPECT_EQ(paths.ended(), entered == 0);
	}
}
