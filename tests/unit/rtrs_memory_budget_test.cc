// SPDX-License-Identifier: GPL-2.0
// Memory that clients may make the server take (protocol G.3-9).
#include <rtrs/pure/memory_budget.hh>

using namespace rtrs;

namespace {

constexpr u64 kMiB = u64{1} << 20;
constexpr u64 kGiB = u64{1} << 30;

constexpr MemoryLimits kOfOneGiB = memory_limits(kGiB, 0, 0, false);

MemoryClaim claim(u64 bytes)
{
	return {.bytes = bytes, .own = 0, .stranger = true, .half_open = true};
}

} // namespace

TEST(QueuePlan, IsWhatTheDeviceHas)
{
	const QueuePlan usual = plan_queues(false, 512, 5, 16384, 65535);
	EXPECT_EQ(usual.sends, 2560u);
	EXPECT_EQ(usual.receives, 512u);
	const QueuePlan service = plan_queues(true, 512, 5, 16384, 65535);
	EXPECT_EQ(service.sends, kServiceWrs);
	EXPECT_EQ(service.receives, kServiceReceives + 1);
	const QueuePlan small = plan_queues(false, 512, 5, 1025, 1026);
	EXPECT_EQ(small.receives, 512u);
	EXPECT_EQ(small.sends, 512u);
}

TEST(RegionPageSize, IsOneThatTheDeviceKnows)
{
	// irdma: 4 KiB, 2 MiB, 1 GiB.
	const u64 few = 1u << 12 | 1u << 21 | 1u << 30;
	EXPECT_EQ(region_page_size(few, 128 << 10, 4096), 4096u);
	EXPECT_EQ(region_page_size(few, 2 << 20, 4096), 2u << 20);
	EXPECT_EQ(region_page_size(few, 8 << 20, 4096), 2u << 20);
	EXPECT_EQ(region_page_size(0xfffff000, 128 << 10, 4096), 128u << 10);
	EXPECT_EQ(region_page_size(1u << 21, 128 << 10, 4096), 0u);
	EXPECT_EQ(region_page_size(1u << 12, 128 << 10, 65536), 0u);
	EXPECT_EQ(region_page_size(0, 8192, 4096), 0u);
}

TEST(MemoryCost, IsThatOfTheGuide)
{
	const u64 usual = connection_bytes({3072, 512}, 128);
	EXPECT_GE(usual, 3 * kMiB / 2);
	EXPECT_LE(usual, 2 * kMiB);
	EXPECT_LE(connection_bytes({256, 129}, 0), kMiB / 4);
	EXPECT_GE(session_bytes(512, 128 << 10, 512), 64 * kMiB);
	EXPECT_LE(path_bytes(kMaxPathConnections), kMiB / 8);
	EXPECT_LE(regions_bytes(512, 1, 512), 3 * kMiB);
	// Not even with all that there can be it overflows.
	EXPECT_GT(connection_bytes({0xfffffff0 / 2, 65535}, 128), kGiB);
	EXPECT_GT(session_bytes(65535, 1 << 27, 512), kGiB);
}

TEST(MemoryCost, HasEachPart)
{
	// With what is added to drain a queue, and a slot that stays empty, the next power of two.
	EXPECT_EQ(cost::queue_slots(254), 256u);
	EXPECT_EQ(cost::queue_slots(255), 512u);
	EXPECT_EQ(connection_bytes({254, 126}, 0), cost::kConnection + 256 * cost::kSend +
						       128 * cost::kReceive +
						       512 * cost::kCompletion);
	EXPECT_EQ(connection_bytes({254, 126}, 128) - connection_bytes({254, 126}, 0),
		  126 * (128 + cost::kReceiveState));
	EXPECT_EQ(session_bytes(512, 1024, 512), 512u * 1536);
}

TEST(MemoryLimits, LeaveAMachineItsOwn)
{
	EXPECT_EQ(kOfOneGiB.all, 768 * kMiB);
	EXPECT_EQ(kOfOneGiB.of_host, 576 * kMiB);
	EXPECT_EQ(kOfOneGiB.strangers, kOfOneGiB.all);
	// A client of a hundred CPUs.
	EXPECT_EQ(kOfOneGiB.half_open, 256 * kMiB);
	EXPECT_EQ(memory_limits(kGiB / 2, 0, 0, false).half_open, 192 * kMiB);
	EXPECT_EQ(memory_limits(64 * kGiB, 0, 0, false).half_open, 12 * kGiB);
	// Where there are keys, an eighth is for who has proven one.
	EXPECT_EQ(memory_limits(kGiB, 0, 0, true).strangers, 672 * kMiB);
	const MemoryLimits said = memory_limits(kGiB, 100 * kMiB, 0, false);
	EXPECT_EQ(said.all, 100 * kMiB);
	EXPECT_EQ(said.of_host, 75 * kMiB);
	EXPECT_EQ(memory_limits(kGiB, 100 * kMiB, 200 * kMiB, false).of_host, 100 * kMiB);
}

TEST(MemoryBudget, IsTakenExactly)
{
	MemoryLoad load;
	load.all = kOfOneGiB.all - 100;
	MemoryClaim c = claim(100);
	c.half_open = false;
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::Fits);
	c.bytes = 101;
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::Memory);
	load = {};
	load.of_host = load.all = kOfOneGiB.of_host;
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::MemoryPerHost);
	// A limit may fall below what is there.
	load.all = load.of_host = ~u64{0};
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::MemoryPerHost);
}

TEST(MemoryBudget, StrangersLeaveRoomWhereThereAreKeys)
{
	const MemoryLimits limits = memory_limits(kGiB, 0, 0, true);
	MemoryLoad load;
	load.all = load.strangers = limits.strangers;
	MemoryClaim c = claim(kMiB);
	EXPECT_EQ(check_memory(load, c, limits), Quota::Memory);
	c.stranger = false;
	EXPECT_EQ(check_memory(load, c, limits), Quota::Fits);
}

TEST(MemoryBudget, HandshakesThatNobodyFinishesHaveAShare)
{
	MemoryLoad load;
	load.all = load.half_open = kOfOneGiB.half_open;
	EXPECT_EQ(check_memory(load, claim(1), kOfOneGiB), Quota::HalfOpen);
	MemoryClaim c = claim(1);
	c.half_open = false;
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::Fits);
	// Hosts that have proven themselves have a share of their own.
	c = claim(1);
	c.stranger = false;
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::Fits);
	load.half_open_of_host = load.half_open;
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::HalfOpenOfHost);
	// What no end of others' handshakes helps is told by the parameter's name.
	c = claim(kMiB);
	c.own = kOfOneGiB.half_open;
	EXPECT_EQ(check_memory(load, c, kOfOneGiB), Quota::Memory);
}

// The flood: 600 connections and no INFO against a server of 1 GiB.
TEST(MemoryBudget, AFloodOfOneHostLeavesMostOfTheMachine)
{
	const u64 connection = connection_bytes({3072, 512}, 128);
	MemoryLoad load;
	u32 made = 0;
	while (made < 600 && check_memory(load, claim(connection), kOfOneGiB) == Quota::Fits) {
		load.all += connection;
		load.of_host = load.strangers = load.half_open = load.half_open_of_host = load.all;
		made++;
	}
	EXPECT_LE(load.all, 256 * kMiB);
	// As many as a client of 128 CPUs has.
	EXPECT_GE(made, 129u);
	// Another host is served, by what the flood leaves when it has to give way.
	load.half_open = load.half_open_of_host = load.of_host = 0;
	EXPECT_EQ(check_memory(load, claim(connection), kOfOneGiB), Quota::Fits);
}
