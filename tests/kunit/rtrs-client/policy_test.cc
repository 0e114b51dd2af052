// SPDX-License-Identifier: GPL-2.0
// Which path requests take, by the policy that sysfs sets (protocol B.5).
#include "cases.h"
#include "threads.hh"
#include "user.hh"

using namespace cxxrt;
using namespace kunit_testing;
using fake::Client;
using fake::kDepth;

namespace {

// Submits a request of the slot and says which path it took; 9 for none.
u32 chosen_path(Client &c, u32 slot)
{
	const u32 before = c.fabric->arrivals(0, slot);
	c.io(slot).prepare(slot, false);
	if (c.io(slot).submit(c.session))
		return 9;
	return c.fabric->arrivals(0, slot) > before ? 0 : 1;
}

bool finish(Client &c, u32 slot, u32 path)
{
	return c.fabric->answer(path, slot) && c.io(slot).wait().ok();
}

} // namespace

CASE(policy_round_robin_takes_turns)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("mp_policy", "round-robin"), 11);
	u32 taken[2] = {};
	u32 last = 9;
	u32 repeated = 0;
	// The turn is the CPU's, so this thread stays on one.
	migrate_disable();
	for (u32 n = 0; n < 10; n++) {
		const u32 slot = c.first_slot();
		const u32 path = chosen_path(c, slot);
		REQUIRE(path < 2 && finish(c, slot, path));
		taken[path]++;
		repeated += path == last;
		last = path;
	}
	migrate_enable();
	EXPECT_EQ(taken[0], 5);
	EXPECT_EQ(taken[1], 5);
	EXPECT_EQ(repeated, 0);
}

CASE(policy_min_inflight_takes_the_idle)
{
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("mp_policy", "min-inflight"), 12);
	const u32 first = c.first_slot();
	// Four in flight are two on each, and the next go where one has ended.
	u32 path[4];
	u32 taken[2] = {};
	for (u32 i = 0; i < 4; i++) {
		path[i] = chosen_path(c, first + i);
		REQUIRE(path[i] < 2);
		taken[path[i]]++;
	}
	EXPECT_EQ(taken[0], 2);
	EXPECT_EQ(taken[1], 2);
	for (u32 i = 0; i < 4; i++) {
		REQUIRE(finish(c, first + i, path[i]));
		EXPECT_EQ(chosen_path(c, first + i), path[i]);
	}
	for (u32 i = 0; i < 4; i++)
		EXPECT(finish(c, first + i, path[i]));
}

// A path that is down has nothing in flight, and would be the least loaded of all.
CASE(policy_min_inflight_leaves_out_what_is_down)
{
	auto made = Client::create(3);
	REQUIRE(made.ok());
	Client &c = **made;
	EXPECT_EQ(c.write("mp_policy", "min-inflight"), 12);
	c.fabric->kill(0);
	c.fabric->kill(2);
	c.fabric->settle();
	for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
		EXPECT_EQ(chosen_path(c, slot), 1);
		EXPECT_EQ(c.fabric->arrivals(1, slot), 1);
	}
	for (u32 slot = c.first_slot(); slot < kDepth; slot++)
		EXPECT(finish(c, slot, 1));
	EXPECT_EQ(c.links_lost, 0);
}

CASE(policy_skips_a_path_that_is_down)
{
	static constexpr const char *kPolicies[] = {"round-robin", "min-inflight", "min-latency"};
	auto made = Client::create(2);
	REQUIRE(made.ok());
	Client &c = **made;
	c.fabric->kill(0);
	c.fabric->settle();
	for (const char *policy : kPolicies) {
		EXPECT(c.write("mp_policy", policy) > 0);
		for (u32 slot = c.first_slot(); slot < kDepth; slot++) {
			EXPECT_EQ(chosen_path(c, slot), 1);
			EXPECT(finish(c, slot, 1));
		}
	}
	EXPECT_EQ(c.links_lost, 0);
}

// A device names 2^64 - 1 where it has no bound, or nothing: who divides that by a page, in
// whatever width, gets a wrong number of pages. The list of pages is what bounds a region.
CASE(policy_limits_do_not_come_from_the_size_of_regions)
{
	u32 segments[3] = {};
	u32 bytes[3] = {};
	const u64 sizes[3] = {0, 1ull << 32, ~0ull};
	for (u32 i = 0; i < 3; i++) {
		auto made = Client::create(1, {.max_mr_size = sizes[i]});
		REQUIRE(made.ok());
		segments[i] = (*made)->attrs.max_segments;
		bytes[i] = (*made)->attrs.max_io_size;
		EXPECT(segments[i] > 1);
		EXPECT_EQ(segments[i], segments[0]);
		EXPECT_EQ(bytes[i], bytes[0]);
	}
}
