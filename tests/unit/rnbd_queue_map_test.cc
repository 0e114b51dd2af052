// SPDX-License-Identifier: GPL-2.0
// Which CPUs share a queue.
#include <rnbd/pure/queue_map.hh>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

using namespace rnbd;

namespace {

// By CPU.
std::vector<u32> map_of(std::vector<CpuPlace> places, u32 queues)
{
	std::sort(places.begin(), places.end(), is_nearer);
	std::vector<u32> map(places.size());
	for (u32 rank = 0; rank < places.size(); rank++)
		map[places[rank].cpu] =
		    queue_of_rank(rank, static_cast<u32>(places.size()), queues);
	return map;
}

// As firmware numbers two nodes of 8 cores and 16 threads: first threads of all cores, then the
// second ones.
std::vector<CpuPlace> two_nodes()
{
	std::vector<CpuPlace> places;
	for (u32 cpu = 0; cpu < 32; cpu++)
		places.push_back({cpu, cpu / 8 % 2, cpu % 16});
	return places;
}

} // namespace

TEST(QueueMap, EveryQueueHasAnEqualShare)
{
	for (u32 cpus = 1; cpus <= 64; cpus++)
		for (u32 queues = 1; queues <= cpus; queues++) {
			std::vector<u32> shares(queues);
			for (u32 rank = 0; rank < cpus; rank++) {
				const u32 queue = queue_of_rank(rank, cpus, queues);
				ASSERT_LT(queue, queues);
				shares[queue]++;
			}
			const auto [least, most] =
			    std::minmax_element(shares.begin(), shares.end());
			EXPECT_GE(*least, 1u);
			EXPECT_LE(*most - *least, 1u);
		}
}

TEST(QueueMap, ThreadsOfACoreStayTogether)
{
	const std::vector<u32> map = map_of(two_nodes(), 16);
	for (u32 cpu = 0; cpu < 16; cpu++)
		EXPECT_EQ(map[cpu], map[cpu + 16]) << cpu;
}

TEST(QueueMap, NoQueueIsSharedByTwoNodes)
{
	for (u32 queues : {2u, 4u, 8u, 16u}) {
		const std::vector<CpuPlace> places = two_nodes();
		const std::vector<u32> map = map_of(places, queues);
		std::map<u32, std::set<u32>> nodes;
		for (const CpuPlace &place : places)
			nodes[map[place.cpu]].insert(place.node);
		EXPECT_EQ(nodes.size(), queues);
		for (const auto &[queue, of] : nodes)
			EXPECT_EQ(of.size(), 1u) << queue << " of " << queues;
	}
}

TEST(QueueMap, TheOrderIsOne)
{
	const std::vector<CpuPlace> places = two_nodes();
	for (const CpuPlace &a : places) {
		EXPECT_FALSE(is_nearer(a, a));
		for (const CpuPlace &b : places)
			EXPECT_EQ(is_nearer(a, b) || is_nearer(b, a), a.cpu != b.cpu);
	}
}
