// SPDX-License-Identifier: GPL-2.0
// What readers reach without a lock: RcuPtr, RcuList, PerCpu, IdAllocator, IdMap.
#include <cxxrt/id.hh>
#include <cxxrt/percpu.hh>
#include <cxxrt/rcu.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

struct Item {
	int id;
	list_head node;
};

void rcu_pointer(Case &t)
{
	Item first{1, {}};
	Item second{2, {}};
	RcuPtr<Item> pointer;
	{
		RcuReader reader;
		EXPECT(!pointer.load());
	}
	pointer.publish(&first);
	{
		RcuReader reader;
		EXPECT(pointer.load()->id == 1);
	}
	pointer.publish(&second);
	EXPECT(pointer.load_locked()->id == 2);
	synchronize_rcu();
}

void rcu_list(Case &t)
{
	Item items[3] = {{1, {}}, {2, {}}, {3, {}}};
	RcuList<Item, &Item::node> list;
	EXPECT(list.empty() && !list.next_in_circle(nullptr));
	for (Item &item : items)
		list.push_back(item);
	RcuReader reader;
	int order = 0;
	for (Item &item : list)
		order = order * 10 + item.id;
	EXPECT(order == 123);
	EXPECT(list.next_in_circle(nullptr) == &items[0]);
	EXPECT(list.next_in_circle(&items[2]) == &items[0]);
	list.remove(items[1]);
	EXPECT(list.next_in_circle(&items[0]) == &items[2]);
	EXPECT(list.next_in_circle(&items[1]) == &items[2]);
	list.remove(items[0]);
	list.remove(items[2]);
	EXPECT(list.empty());
}

struct Counters {
	u64 requests;
	u64 bytes;
};

void counters_per_cpu(Case &t)
{
	auto made = PerCpu<Counters>::create();
	if (!made.ok())
		return t.skip("out of memory");
	PerCpu<Counters> counters = made.take();
	for (int i = 0; i < 10; i++) {
		counters.inc(&Counters::requests);
		counters.add(&Counters::bytes, u64(512));
	}
	EXPECT(counters.sum(&Counters::requests) == 10);
	EXPECT(counters.sum(&Counters::bytes) == 5120);
	counters.for_each([](int, Counters &c) { c = {}; });
	EXPECT(counters.sum(&Counters::bytes) == 0);
	unsigned int copies = 0;
	counters.for_each([&](int cpu, Counters &c) { copies += &c == &counters.on(cpu); });
	EXPECT(copies == num_possible_cpus());
}

void numbers(Case &t)
{
	IdAllocator ids;
	EXPECT(ids.allocate(2).take() == 0);
	EXPECT(ids.allocate(2).take() == 1);
	EXPECT(ids.allocate(2).take() == 2);
	EXPECT(ids.allocate(2).code() == -ENOSPC);
	ids.free(1);
	EXPECT(ids.allocate(2).take() == 1);
	for (u32 id = 0; id < 3; id++)
		ids.free(id);
}

void numbered_objects(Case &t)
{
	Item items[2] = {{7, {}}, {8, {}}};
	IdMap<Item> map;
	EXPECT(map.insert(&items[0], 1).take() == 0);
	EXPECT(map.insert(&items[1], 1).take() == 1);
	EXPECT(map.insert(&items[0], 1).code() == -EBUSY);
	EXPECT(map.find(1) == &items[1]);
	EXPECT(!map.find(2));
	int sum = 0;
	map.for_each([&](u32 id, Item *item) { sum += item->id + static_cast<int>(id); });
	EXPECT(sum == 16);
	EXPECT(map.remove(0) == &items[0]);
	EXPECT(!map.remove(0));
	// In a circle: what was given back last is given out last.
	EXPECT(map.insert(&items[0], 2).take() == 2);
	EXPECT(map.insert(&items[0], 2).take() == 0);
	map.for_each([&](u32 id, Item *) { map.remove(id); });
	EXPECT(map.empty());
}

constexpr Test kLookupTests[] = {
    {"RcuPtr", rcu_pointer},  {"RcuList", rcu_list},	   {"PerCpu", counters_per_cpu},
    {"IdAllocator", numbers}, {"IdMap", numbered_objects},
};

} // namespace

namespace selftest {
constinit const Suite lookup_suite("look-up", kLookupTests);
}
