// SPDX-License-Identifier: GPL-2.0
// A gate that is closed for a time, and tells when it is empty.
#include <cxxrt/gate.hh>

#include <cxxrt/wait.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

struct Emptied {
	Completion seen;
	int times = 0;

	static void call(void *self)
	{
		auto *e = static_cast<Emptied *>(self);
		__atomic_fetch_add(&e->times, 1, __ATOMIC_SEQ_CST);
		e->seen.complete();
	}
	int count() const { return __atomic_load_n(&times, __ATOMIC_SEQ_CST); }
};

} // namespace

CASE(gate_tells_when_the_last_has_left)
{
	Emptied emptied;
	auto made = Gate::create(Emptied::call, &emptied);
	REQUIRE(made.ok());
	REQUIRE(made.value()->enter());
	REQUIRE(made.value()->enter());
	made.value()->close();
	EXPECT(!made.value()->enter());
	made.value()->leave();
	synchronize_rcu();
	for (int i = 0; i < 50; i++)
		breathe();
	EXPECT_EQ(emptied.count(), 0);
	made.value()->leave();
	EXPECT(emptied.seen.wait_for(kLong).ok());
	EXPECT_EQ(emptied.count(), 1);
}

CASE(gate_opens_again)
{
	for (int round = 0; round < 3; round++) {
		Emptied once, twice;
		Emptied *now = &once;
		auto made = Gate::create(
		    [](void *which) { Emptied::call(*static_cast<Emptied **>(which)); }, &now);
		REQUIRE(made.ok());
		Gate &gate = *made.value();
		gate.close();
		REQUIRE(once.seen.wait_for(kLong).ok());
		EXPECT(!gate.enter());
		now = &twice;
		gate.open();
		REQUIRE(gate.enter());
		gate.close();
		EXPECT(!gate.enter());
		synchronize_rcu();
		EXPECT_EQ(twice.count(), 0);
		gate.leave();
		REQUIRE(twice.seen.wait_for(kLong).ok());
		gate.open();
		// It may die open.
	}
}

// While users come and go it is closed and opened: whenever it is empty nobody is inside.
CASE(gate_is_empty_when_it_says_so)
{
	constexpr unsigned int kUsers = 3;
	Emptied first;
	Emptied *now = &first;
	auto made =
	    Gate::create([](void *which) { Emptied::call(*static_cast<Emptied **>(which)); }, &now);
	REQUIRE(made.ok());
	Gate &gate = *made.value();
	int inside = 0, wrong = 0;
	bool enough = false;
	REQUIRE(side_by_side<kUsers + 1>([&](unsigned int i) {
		if (i == kUsers) {
			for (int round = 0; round < 5; round++) {
				Emptied emptied;
				now = &emptied;
				for (int n = 0; n < 20; n++)
					breathe();
				gate.close();
				emptied.seen.wait();
				wrong += __atomic_load_n(&inside, __ATOMIC_SEQ_CST) != 0;
				gate.open();
			}
			__atomic_store_n(&enough, true, __ATOMIC_SEQ_CST);
			return;
		}
		while (!__atomic_load_n(&enough, __ATOMIC_SEQ_CST)) {
			if (gate.enter()) {
				__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
				breathe();
				__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
				gate.leave();
			}
			breathe();
		}
	}));
	EXPECT_EQ(wrong, 0);
}
