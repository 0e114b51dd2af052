// SPDX-License-Identifier: GPL-2.0
// Readers without a lock beside a writer that publishes, removes and frees.
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/rcu.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

constexpr u32 kAlive = 0x600d600d;
constexpr u32 kDead = 0xdeaddead;
constexpr int kRounds = 200;

struct Item {
	explicit Item(int n) : number(n), twice(2 * n) {}
	// Out of line: of a store to an object that dies, g++ makes code that objtool can't follow.
	noinline ~Item() { WRITE_ONCE(magic, kDead); }
	bool whole() const { return READ_ONCE(magic) == kAlive && twice == 2 * number; }

	list_head node{};
	u32 magic = kAlive;
	int number;
	int twice;
};

using Items = RcuList<Item, &Item::node>;

} // namespace

CASE(rcu_pointer_is_seen_complete)
{
	RcuPtr<Item> shared;
	bool stop = false;
	int broken = 0;
	int seen = 0;
	REQUIRE(side_by_side<2>([&](unsigned int i) {
		if (i == 0) {
			Box<Item> old;
			const unsigned long end = jiffies + kLong;
			// Not before the other thread has had a turn.
			auto more = [&](int n) {
				return n <= kRounds ||
				       (!READ_ONCE(seen) && time_before(jiffies, end));
			};
			for (int n = 1; more(n); n++) {
				auto made = make_box<Item>(GFP_KERNEL, n);
				if (!made.ok())
					break;
				Box<Item> fresh = made.take();
				shared.publish(fresh.get());
				breathe();
				synchronize_rcu();
				old = move(fresh);
			}
			shared.publish(nullptr);
			synchronize_rcu();
			WRITE_ONCE(stop, true);
			return;
		}
		while (!READ_ONCE(stop)) {
			{
				const RcuReader reader;
				if (const Item *item = shared.load()) {
					seen++;
					for (int look = 0; look < 10; look++)
						broken += !item->whole();
				}
			}
			breathe();
		}
	}));
	EXPECT_EQ(broken, 0);
	EXPECT(seen > 0);
}

// An element is freed after a grace period, while readers walk all the time. KASAN watches too.
CASE(rcu_list_walk_survives_removal)
{
	Items items;
	Mutex writers(cxxrt::lock_class<"kunit writers">());
	bool stop = false;
	int broken = 0;
	int lost = 0;
	Item fixed(1000);
	items.push_back(fixed);
	REQUIRE(side_by_side<4>([&](unsigned int i) {
		if (i < 2) {
			for (int n = 0; n < kRounds / 4; n++) {
				auto made = make_box<Item>(GFP_KERNEL, n);
				if (!made.ok())
					break;
				Box<Item> item = made.take();
				{
					LockGuard<Mutex> held(writers);
					items.push_back(*item);
				}
				breathe();
				{
					LockGuard<Mutex> held(writers);
					items.remove(*item);
				}
				synchronize_rcu();
			}
			WRITE_ONCE(stop, true);
			return;
		}
		while (!READ_ONCE(stop)) {
			{
				const RcuReader reader;
				bool found = false;
				for (Item &item : items) {
					broken += !item.whole();
					found |= &item == &fixed;
				}
				lost += !found;
			}
			breathe();
		}
	}));
	EXPECT_EQ(broken, 0);
	EXPECT_EQ(lost, 0);
	items.remove(fixed);
	EXPECT(items.empty());
}

CASE(rcu_circle_visits_each_once)
{
	Items items;
	Item a(1), b(2), c(3);
	EXPECT(!items.next_in_circle(nullptr));
	items.push_back(a);
	EXPECT(items.next_in_circle(&a) == &a);
	items.push_back(b);
	items.push_back(c);
	int order = 0;
	Item *at = nullptr;
	for (int i = 0; i < 6; i++) {
		at = items.next_in_circle(at);
		REQUIRE(at);
		order = order * 10 + at->number;
	}
	EXPECT_EQ(order, 123123);
}

// A reader may stand on an element that a writer takes away.
CASE(rcu_circle_goes_on_from_a_removed_element)
{
	Items items;
	Item a(1), b(2), c(3);
	items.push_back(a);
	items.push_back(b);
	items.push_back(c);
	items.remove(b);
	EXPECT(items.next_in_circle(&b) == &c);
	items.remove(c);
	EXPECT(items.next_in_circle(&c) == &a);
	EXPECT(items.next_in_circle(&a) == &a);
}
