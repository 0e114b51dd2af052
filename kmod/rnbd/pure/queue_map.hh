// SPDX-License-Identifier: GPL-2.0
// Which CPU uses which queue, where there are fewer queues than CPUs. Pure.
//
// A queue, and with it a connection of each path, is shared by neighbours, so that its lines stay
// within a node, and within a core where it is shared by two. CPUs that share a larger cache have
// numbers close to each other. Those that are not online share what there is, should they come.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

struct CpuPlace {
	u32 cpu;
	u32 node;
	u32 core; // number of its first thread
};

// Whether `a` comes first in the order of the neighbourhood.
constexpr bool is_nearer(const CpuPlace &a, const CpuPlace &b)
{
	if (a.node != b.node)
		return a.node < b.node;
	if (a.core != b.core)
		return a.core < b.core;
	return a.cpu < b.cpu;
}

// Of `count` CPUs in that order the queue of the one of that rank: equal runs, each queue has one
// where there are enough CPUs. `count` and `queues` are not 0.
constexpr u32 queue_of_rank(u32 rank, u32 count, u32 queues)
{
	return static_cast<u32>(u64{rank} * queues / count);
}

} // namespace rnbd
