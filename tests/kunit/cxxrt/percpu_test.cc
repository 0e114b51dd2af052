// SPDX-License-Identifier: GPL-2.0
// Counters of each CPU.
#include <cxxrt/percpu.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

constexpr unsigned int kThreads = 4;
constexpr unsigned int kRounds = 2000;

struct Counters {
	u64 events;
	u64 bytes;
	u64 rows[3];
};

} // namespace

CASE(percpu_sums_are_exact_under_threads)
{
	auto made = PerCpu<Counters>::create();
	REQUIRE(made.ok());
	PerCpu<Counters> counters = made.take();
	REQUIRE(side_by_side<kThreads>([&](unsigned int i) {
		for (unsigned int round = 0; round < kRounds; round++) {
			counters.inc(&Counters::events);
			counters.add(&Counters::bytes, u64{i});
			counters.inc(&Counters::rows, round % 3);
			if (round % 50 == 0)
				breathe();
		}
	}));
	EXPECT_EQ(counters.sum(&Counters::events), kThreads * kRounds);
	EXPECT_EQ(counters.sum(&Counters::bytes), (0 + 1 + 2 + 3) * kRounds);
	u64 rows[3] = {};
	counters.for_each([&](int, const Counters &c) {
		for (int r = 0; r < 3; r++)
			rows[r] += c.rows[r];
	});
	for (unsigned int r = 0; r < 3; r++)
		EXPECT_EQ(rows[r], kThreads * ((kRounds + 2 - r) / 3));
}

CASE(percpu_counts_on_the_cpu_it_runs_on)
{
	auto made = PerCpu<Counters>::create();
	REQUIRE(made.ok());
	PerCpu<Counters> counters = made.take();
	int cpu;
	for_each_online_cpu(cpu)
	{
		work_on_cpu(
		    cpu,
		    [](void *data) -> long {
			    auto *c = static_cast<PerCpu<Counters> *>(data);
			    c->add(&Counters::events, u64{7});
			    return 0;
		    },
		    &counters);
	}
	counters.for_each(
	    [&](int at, const Counters &c) { EXPECT_EQ(c.events, cpu_online(at) ? 7 : 0); });
}

CASE(percpu_starts_as_zero_and_moves)
{
	auto made = PerCpu<Counters>::create();
	auto other = PerCpu<Counters>::create();
	REQUIRE(made.ok() && other.ok());
	PerCpu<Counters> a = made.take();
	PerCpu<Counters> b = other.take();
	EXPECT_EQ(a.sum(&Counters::events), 0);
	EXPECT_EQ(a.sum(&Counters::bytes), 0);
	a.inc(&Counters::events);
	// What b had is freed, not leaked and not freed twice: kmemleak and KASAN see to that.
	b = move(a);
	EXPECT_EQ(b.sum(&Counters::events), 1);
}
