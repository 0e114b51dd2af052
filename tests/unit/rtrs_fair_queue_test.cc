// SPDX-License-Identifier: GPL-2.0
// Turns of those whose requests wait for a chain.
#include <rtrs/pure/fair_queue.hh>

#include <deque>
#include <random>
#include <vector>

using namespace rtrs;

namespace {

struct Item {
	u32 flow;
	u32 number;
};

class ItemList {
public:
	bool empty() const { return items_.empty(); }
	void push_back(Item &i) { items_.push_back(&i); }
	void push_front(Item &i) { items_.push_front(&i); }
	Item *pop_front()
	{
		if (empty())
			return nullptr;
		Item *const i = items_.front();
		items_.pop_front();
		return i;
	}

private:
	std::deque<Item *> items_;
};

using Queue = FairQueue<Item, ItemList>;

class Waiting {
public:
	void add(u32 flow, u32 count)
	{
		while (count--)
			queue.push(items_.emplace_back(Item{flow, number_++}), flow);
	}
	// As the modules do: at most `most`.
	std::vector<Item *> chain(u32 most)
	{
		std::vector<Item *> got;
		queue.take_chain(most, [&](Item &i) { got.push_back(&i); });
		return got;
	}
	std::vector<Item *> posted(u32 most)
	{
		auto got = chain(most);
		queue.end_chain();
		return got;
	}

	Queue queue;

private:
	std::deque<Item> items_;
	u32 number_ = 0;
};

std::vector<u32> flows(const std::vector<Item *> &chain)
{
	std::vector<u32> f;
	for (const Item *i : chain)
		f.push_back(i->flow);
	return f;
}

} // namespace

TEST(FairQueue, OneFlowGoesInItsOrder)
{
	Waiting w;
	w.add(7, 100);
	const auto first = w.posted(64);
	ASSERT_EQ(first.size(), 64u);
	const auto second = w.posted(64);
	ASSERT_EQ(second.size(), 36u);
	for (u32 n = 0; n < 64; n++)
		EXPECT_EQ(first[n]->number, n);
	for (u32 n = 0; n < 36; n++)
		EXPECT_EQ(second[n]->number, 64 + n);
	EXPECT_TRUE(w.queue.empty());
	EXPECT_TRUE(w.posted(64).empty());
}

TEST(FairQueue, FlowsTakeTurns)
{
	Waiting w;
	w.add(1, 3);
	w.add(2, 1);
	w.add(3, 2);
	EXPECT_EQ(flows(w.posted(64)), (std::vector<u32>{1, 2, 3, 1, 3, 1}));
}

TEST(FairQueue, AModestOneIsInTheNextChainAndChainsAreShortForAWhile)
{
	Waiting w;
	w.add(1, 400);
	EXPECT_EQ(w.posted(64).size(), 64u);
	w.add(2, 1);
	const auto uneven = w.posted(64);
	EXPECT_EQ(uneven.size(), turns::kShort);
	EXPECT_EQ(uneven[1]->flow, 2u);
	for (u32 n = 0; n < turns::kShortChains; n++) {
		EXPECT_EQ(w.posted(64).size(), turns::kShort) << n;
		w.add(1, turns::kShort);
	}
	EXPECT_EQ(w.posted(64).size(), 64u);
}

TEST(FairQueue, MuchBeginsAtFourTimes)
{
	for (u32 much = turns::kMuch - 1; much <= turns::kMuch; much++) {
		Waiting w;
		w.add(1, 1);
		w.add(2, much);
		EXPECT_EQ(w.posted(64).size(), much + 1);
		w.add(2, 40);
		EXPECT_EQ(w.posted(64).size(), much == 4 ? 16u : 40u) << much;
	}
}

// Whoever has had three turns waits for little beside one who waits for twelve.
TEST(FairQueue, MuchIsMeasuredByTheTurns)
{
	Waiting w;
	w.add(1, 3);
	w.add(2, 3 + 8);
	EXPECT_EQ(w.posted(64).size(), 14u);
	w.add(2, 40);
	EXPECT_EQ(w.posted(64).size(), 40u);
}

TEST(FairQueue, DropsAll)
{
	Waiting w;
	w.add(1, 3);
	w.add(2, 1);
	w.queue.drop_all();
	EXPECT_TRUE(w.queue.empty());
	EXPECT_EQ(w.posted(64).size(), 0u);
	w.add(2, 2);
	EXPECT_EQ(w.posted(64).size(), 2u);
}

TEST(FairQueue, AChainThatIsFoundUnevenLateEndsThere)
{
	Waiting w;
	w.add(1, 400);
	w.add(2, 20);
	EXPECT_EQ(w.posted(64).size(), 40u);
	EXPECT_EQ(w.posted(64).size(), turns::kShort);
}

TEST(FairQueue, EqualsHaveLongChains)
{
	Waiting w;
	w.add(1, 100);
	w.add(2, 100);
	EXPECT_EQ(w.posted(64).size(), 64u);
	Waiting many;
	for (u32 f = 0; f < 20; f++)
		many.add(f, 4);
	EXPECT_EQ(many.posted(64).size(), 64u);
	EXPECT_EQ(many.posted(64).size(), 16u);
}

TEST(FairQueue, AShortChainHasOneOfEachFlow)
{
	Waiting w;
	w.add(0, 400);
	for (u32 f = 1; f < 40; f++)
		w.add(f, 1);
	const auto got = w.posted(64);
	EXPECT_EQ(got.size(), 40u);
	for (u32 f = 0; f < 40; f++)
		EXPECT_EQ(got[f]->flow, f);
}

TEST(FairQueue, NumbersAreTakenModulo)
{
	Waiting w;
	w.add(3, 2);
	w.add(3 + turns::kFlows, 1);
	w.add(~0U, 1);
	EXPECT_EQ(flows(w.posted(64)), (std::vector<u32>{3, ~0U, 3, 3 + turns::kFlows}));
}

TEST(FairQueue, WhatIsPutBackIsTakenAgainInTheSameOrder)
{
	std::mt19937 random(1);
	for (int round = 0; round < 2000; round++) {
		Waiting w;
		const u32 count = 1 + random() % 100;
		for (u32 n = 0; n < count; n++)
			w.add(random() % 90, 1 + random() % 3);
		w.posted(random() % 10);
		const u32 most = 1 + random() % 64;
		const auto got = w.chain(most);
		for (std::size_t n = got.size(); n--;)
			w.queue.put_back(*got[n], got[n]->flow);
		EXPECT_EQ(w.chain(most), got);
	}
}

// Whatever comes and goes, each request is taken once, and those of a flow in their order.
TEST(FairQueue, NothingIsLostOrTakenTwice)
{
	std::mt19937 random(2);
	Waiting w;
	std::vector<u32> last(turns::kFlows, 0);
	u32 added = 0;
	u32 taken = 0;
	const auto look = [&](const std::vector<Item *> &chain) {
		for (const Item *i : chain) {
			EXPECT_GE(i->number + 1, last[i->flow]);
			last[i->flow] = i->number + 1;
			taken++;
		}
	};
	for (int round = 0; round < 20000; round++) {
		const u32 count = random() % 8;
		w.add(random() % (random() % 2 ? 2 : turns::kFlows), count);
		added += count;
		if (random() % 3 == 0)
			look(w.posted(1 + random() % 64));
	}
	while (!w.queue.empty())
		look(w.posted(64));
	EXPECT_EQ(taken, added);
}
