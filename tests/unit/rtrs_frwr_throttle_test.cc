// SPDX-License-Identifier: GPL-2.0
// The throttle of registrations on devices that execute local work twice.
#include <rtrs/pure/frwr_throttle.hh>

#include <deque>
#include <random>

using namespace rtrs;

TEST(FrwrThrottle, TwoPassThenAllWait)
{
	FrwrThrottle g;
	EXPECT_TRUE(g.is_open());
	EXPECT_EQ(g.pass(), ThrottlePass::Post);
	EXPECT_FALSE(g.is_open());
	EXPECT_EQ(g.pass(), ThrottlePass::PostSignaled);
	EXPECT_EQ(g.pass(), ThrottlePass::Hold);
	EXPECT_EQ(g.pass(), ThrottlePass::Hold);
	// They go, and what comes meanwhile waits for them.
	g.completed(true);
	EXPECT_EQ(g.pass(), ThrottlePass::Hold);
	g.completed(true);
	EXPECT_FALSE(g.is_open());
	g.completed(false);
	EXPECT_TRUE(g.is_open());
	EXPECT_EQ(g.pass(), ThrottlePass::Post);
}

TEST(FrwrThrottle, OneAfterAnotherNeedsACompletionForEveryOther)
{
	FrwrThrottle g;
	int signaled = 0;
	for (int i = 0; i < 100; i++) {
		const ThrottlePass p = g.pass();
		ASSERT_NE(p, ThrottlePass::Hold);
		if (p == ThrottlePass::PostSignaled) {
			signaled++;
			g.completed(false);
		}
	}
	EXPECT_EQ(signaled, 50);
}

TEST(FrwrThrottle, OneAfterAnotherNeedsNoneWhenAnswersTell)
{
	FrwrThrottle g;
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(g.pass(), ThrottlePass::Post);
		g.answered();
	}
	// Only the answer to the last one tells anything.
	EXPECT_EQ(g.pass(), ThrottlePass::Post);
	EXPECT_EQ(g.pass(), ThrottlePass::PostSignaled);
	g.answered();
	EXPECT_EQ(g.pass(), ThrottlePass::Hold);
}

TEST(FrwrThrottle, AnotherCompletionOnlyOpensEarly)
{
	FrwrThrottle g;
	g.completed(false);
	EXPECT_EQ(g.pass(), ThrottlePass::Post);
	g.completed(false);
	EXPECT_EQ(g.pass(), ThrottlePass::Post);
}

// Whatever the order of requests and completions: who is held has a completion to wait for, and
// none is held when all that was posted has completed.
TEST(FrwrThrottle, NobodyWaitsForEver)
{
	std::mt19937 random(20261123);
	FrwrThrottle g;
	std::deque<bool> queue; // posted, signaled or not
	unsigned held = 0;
	unsigned posted = 0;
	unsigned asked = 0;
	const auto complete = [&] {
		while (!queue.empty()) {
			const bool signaled = queue.front();
			queue.pop_front();
			if (!signaled)
				continue;
			g.completed(held != 0);
			if (held) {
				posted += held;
				held = 0;
				queue.push_back(true);
			}
			return;
		}
	};
	for (int i = 0; i < 100000; i++) {
		if (random() % 3) {
			asked++;
			switch (g.pass()) {
			case ThrottlePass::Hold:
				held++;
				break;
			case ThrottlePass::Post:
				posted++;
				queue.push_back(random() % 16 == 0); // what the SQ accounting wants
				break;
			case ThrottlePass::PostSignaled:
				posted++;
				queue.push_back(true);
				break;
			}
		} else {
			complete();
		}
		unsigned signaled = 0;
		for (const bool s : queue)
			signaled += s;
		ASSERT_TRUE(!held || signaled) << i;
	}
	while (!queue.empty())
		complete();
	EXPECT_EQ(held, 0u);
	EXPECT_EQ(posted, asked);
}

TEST(FrwrThrottle, Batch)
{
	EXPECT_EQ(throttle_batch(2048, 2, 16), 16u);
	EXPECT_EQ(throttle_batch(80, 2, 16), 16u);
	EXPECT_EQ(throttle_batch(40, 2, 16), 9u);
	EXPECT_EQ(throttle_batch(8, 2, 16), 1u);
	EXPECT_EQ(throttle_batch(3, 2, 16), 1u);
	EXPECT_EQ(throttle_batch(0, 4, 16), 1u);
	for (unsigned capacity = 6; capacity < 300; capacity++)
		EXPECT_LE(throttle_batch(capacity, 4, 16) * 4 + 1,
			  capacity < 10 ? 5 : capacity / 2);
}
