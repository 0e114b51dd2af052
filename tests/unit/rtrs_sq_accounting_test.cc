// SPDX-License-Identifier: GPL-2.0
// Accounting of send queues.
#include <rtrs/pure/sq_accounting.hh>

#include <deque>
#include <random>

using namespace rtrs;

namespace {

// What the hardware would do: chains in order, one completion for each signaled one.
class Queue {
public:
	explicit Queue(u32 capacity) : capacity_(capacity) {}

	void post(u32 wrs, bool signaled, u64 place = 0)
	{
		chains_.push_back({wrs, signaled, place});
		used_ += wrs;
		EXPECT_LE(used_, capacity_) << "send queue overflow";
	}
	// Executes up to and including the next signaled chain; false if there is none.
	bool complete()
	{
		std::size_t n = 0;
		while (n < chains_.size() && !chains_[n].signaled)
			n++;
		if (n == chains_.size())
			return false;
		for (std::size_t i = 0; i <= n; i++) {
			used_ -= chains_.front().wrs;
			gone_ = chains_.front().place;
			chains_.pop_front();
		}
		return true;
	}
	bool has_signaled() const
	{
		for (const Chain &c : chains_)
			if (c.signaled)
				return true;
		return false;
	}
	u32 used() const { return used_; }
	// Exactly those that have left it are covered.
	bool agrees_with(const SqAccounting &l) const
	{
		return l.covers(gone_) && (chains_.empty() || !l.covers(chains_.front().place));
	}

private:
	struct Chain {
		u32 wrs;
		bool signaled;
		u64 place;
	};
	u64 gone_ = 0; // place of the last one
	std::deque<Chain> chains_;
	u32 capacity_;
	u32 used_ = 0;
};

} // namespace

TEST(SqAccounting, SignalsEveryInterval)
{
	SqAccounting l(1000, 16, 2);
	int signaled = 0;
	for (int i = 1; i <= 160; i++) {
		SendPermit p = l.reserve(1);
		ASSERT_NE(p, SendPermit::Full);
		EXPECT_EQ(p == SendPermit::Signaled, i % 16 == 0) << i;
		signaled += p == SendPermit::Signaled;
	}
	EXPECT_EQ(signaled, 10);
	EXPECT_EQ(l.used(), 160u);
	EXPECT_EQ(l.retire(), 16u);
	EXPECT_EQ(l.used(), 144u);
	EXPECT_EQ(l.free(), 856u);
}

TEST(SqAccounting, FullOnlyWithACompletionUnderWay)
{
	SqAccounting l(10, 512, 4);
	EXPECT_EQ(l.reserve(4), SendPermit::Unsignaled); // 6 free
	EXPECT_EQ(l.reserve(3), SendPermit::Signaled);	 // 3 free: less than a chain
	EXPECT_EQ(l.reserve(4), SendPermit::Full);
	EXPECT_EQ(l.used(), 7u);
	EXPECT_EQ(l.reserve(3), SendPermit::Signaled);
	EXPECT_EQ(l.reserve(1), SendPermit::Full);
	EXPECT_EQ(l.retire(), 7u);
	EXPECT_EQ(l.retire(), 3u);
	EXPECT_EQ(l.used(), 0u);
}

TEST(SqAccounting, WhatTheCallerMustHaveSignaled)
{
	SqAccounting l(100, 512, 4);
	EXPECT_EQ(l.reserve(1), SendPermit::Unsignaled);
	EXPECT_EQ(l.reserve(2, true), SendPermit::Signaled);
	EXPECT_EQ(l.retire(), 3u);
}

// A chain for many requests is as good as many chains: the room of no more than `interval` answered
// requests waits for a completion.
TEST(SqAccounting, CountsRequestsNotChains)
{
	SqAccounting l(1000, 16, 17);
	EXPECT_EQ(l.reserve(8, false, 7), SendPermit::Unsignaled);
	EXPECT_EQ(l.reserve(9, false, 8), SendPermit::Unsignaled);
	SendPermit p = l.reserve(5, false, 4);
	EXPECT_EQ(p, SendPermit::Signaled);
	l.cancel(5, p, 4);
	EXPECT_EQ(l.used(), 17u);
	EXPECT_EQ(l.reserve(1), SendPermit::Signaled);
	EXPECT_EQ(l.retire(), 18u);
	p = l.reserve(8, false, 7);
	l.cancel(8, p, 7);
	EXPECT_EQ(l.reserve(16, false, 15), SendPermit::Unsignaled);
	EXPECT_EQ(l.reserve(1), SendPermit::Signaled);
}

TEST(SqAccounting, CompletionTooManyRetiresNothing)
{
	SqAccounting l(100, 512, 4);
	EXPECT_EQ(l.retire(), 0u);
	l.reserve(3);
	EXPECT_EQ(l.retire(), 0u);
	EXPECT_EQ(l.used(), 3u);
	l.reserve(1, true);
	EXPECT_EQ(l.retire(), 4u);
	EXPECT_EQ(l.retire(), 0u);
	EXPECT_EQ(l.used(), 0u);
}

TEST(SqAccounting, RefusesNothingAndTooMuch)
{
	SqAccounting l(8, 4, 4);
	EXPECT_EQ(l.reserve(0), SendPermit::Full);
	EXPECT_EQ(l.reserve(9), SendPermit::Full);
	EXPECT_EQ(l.reserve(0xffffffff), SendPermit::Full);
	EXPECT_EQ(l.reserve(8), SendPermit::Signaled);
}

TEST(SqAccounting, Cancel)
{
	SqAccounting l(100, 4, 4);
	SendPermit p = l.reserve(2);
	l.cancel(2, p);
	EXPECT_EQ(l.used(), 0u);
	// The interval does not count what was never posted.
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(l.reserve(1), SendPermit::Unsignaled);
	p = l.reserve(3);
	EXPECT_EQ(p, SendPermit::Signaled);
	l.cancel(3, p);
	EXPECT_EQ(l.used(), 3u);
	EXPECT_EQ(l.retire(), 0u);
	EXPECT_EQ(l.reserve(1), SendPermit::Signaled);
	EXPECT_EQ(l.retire(), 4u);
	l.cancel(1, SendPermit::Full);
	EXPECT_EQ(l.used(), 0u);
}

TEST(SqAccounting, MergesWhenManyAreSignaled)
{
	SqAccounting l(1000, 512, 4);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(l.reserve(2, true), SendPermit::Signaled);
	SendPermit p = l.reserve(4, true);
	l.cancel(4, p);
	u32 retired = 0;
	for (int i = 0; i < 100; i++) {
		retired += l.retire();
		EXPECT_LE(retired, 2u * (i + 1)) << "room for what is still queued";
	}
	EXPECT_EQ(retired, 200u);
	EXPECT_EQ(l.used(), 0u);
}

// What was posted is covered by the completion that comes at or behind it, and by none before.
TEST(SqAccounting, PlacesInTheQueue)
{
	SqAccounting l(1000, 512, 4);
	EXPECT_TRUE(l.covers(l.place())) << "an empty queue owes nothing";
	l.reserve(1, true);
	const u64 first = l.place();
	l.reserve(1);
	const u64 second = l.place();
	EXPECT_GT(second, first);
	l.cancel(4, l.reserve(4, true));
	EXPECT_EQ(l.place(), second) << "what was not posted has no place";
	l.reserve(2, true);
	EXPECT_EQ(l.place(), second) << "one completion for both";
	EXPECT_FALSE(l.covers(first));
	l.retire();
	EXPECT_TRUE(l.covers(first));
	EXPECT_FALSE(l.covers(second));
	l.retire();
	EXPECT_TRUE(l.covers(second));
	EXPECT_EQ(l.completed(), 2u);
	l.retire();
	EXPECT_EQ(l.completed(), 2u) << "a completion too many";
	l.reserve(1, true);
	EXPECT_FALSE(l.covers(l.place()));
}

// Groups that were merged for want of places retire late, but their places are exact.
TEST(SqAccounting, PlacesOfMergedGroups)
{
	SqAccounting l(1000, 512, 4);
	std::vector<u64> places;
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(l.reserve(2, true), SendPermit::Signaled);
		places.push_back(l.place());
	}
	for (std::size_t done = 0; done <= places.size(); done++) {
		for (std::size_t i = 0; i < places.size(); i++)
			ASSERT_EQ(l.covers(places[i]), i < done) << i << " after " << done;
		l.retire();
	}
}

TEST(SqAccounting, Reset)
{
	SqAccounting l(10, 2, 4);
	l.reserve(3);
	l.reserve(3);
	l.reset();
	EXPECT_EQ(l.free(), 10u);
	EXPECT_EQ(l.retire(), 0u);
	EXPECT_EQ(l.reserve(1), SendPermit::Unsignaled);
}

// As long as one more chain fits, nothing but the interval asks for a completion; when none does,
// the last one that did.
TEST(SqAccounting, TheLastOneThatFitsIsSignaled)
{
	SqAccounting l(8, 100, 4);
	EXPECT_EQ(l.reserve(4), SendPermit::Unsignaled);
	EXPECT_EQ(l.reserve(1), SendPermit::Signaled);
	EXPECT_EQ(l.retire(), 5u);
}

// Random traffic against a model of the queue: no overflow, no stall, nothing lost.
TEST(SqAccounting, AgainstAModel)
{
	std::mt19937 random(1);
	for (int round = 0; round < 300; round++) {
		u32 max_chain = 1 + random() % 4;
		u32 capacity = max_chain + random() % 200;
		u32 interval = 1 + random() % 64;
		SqAccounting l(capacity, interval, max_chain);
		Queue queue(capacity);
		unsigned must = random() % 4;
		for (int step = 0; step < 2000; step++) {
			if (random() % 8 == 0 && queue.complete()) {
				l.retire();
			}
			u32 wrs = 1 + random() % max_chain;
			u32 requests = 1 + random() % wrs;
			SendPermit p = l.reserve(wrs, random() % 16 < must, requests);
			if (p == SendPermit::Full) {
				ASSERT_TRUE(queue.has_signaled()) << "stalled";
				ASSERT_TRUE(queue.complete());
				l.retire();
			} else if (random() % 10 == 0) {
				l.cancel(wrs, p, requests);
			} else {
				queue.post(wrs, p == SendPermit::Signaled, l.place());
			}
			ASSERT_TRUE(queue.agrees_with(l));
			ASSERT_GE(l.used(), queue.used());
			ASSERT_LE(l.used(), capacity);
		}
		while (queue.complete())
			l.retire();
		ASSERT_EQ(l.used(), queue.used());
	}
}
