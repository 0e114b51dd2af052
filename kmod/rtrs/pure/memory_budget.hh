// SPDX-License-Identifier: GPL-2.0
// Memory that clients may make the server take: what each thing costs, and who may have how much
// (protocol G.3-9). Pure.
//
// Costs are estimates, charged before the thing is made, since drivers do not tell. They are those
// of soft-RoCE, whose queues are in the kernel's memory and larger than an adapter's: a slot of a
// send queue has 256 bytes there, as have four basic blocks of mlx5, and what a driver rounds up,
// it rounds up to powers of two. The scenario memory-budget compares them with what the machine has
// less.
#pragma once

#include <rtrs/pure/geometry.hh>
#include <rtrs/pure/quota.hh>

namespace rtrs {

namespace cost {
constexpr u64 kSend = 256;   // a slot of the send queue
constexpr u64 kReceive = 64; // of the receive queue
constexpr u64 kCompletion = 128;
constexpr u64 kConnection = 48 << 10; // ids, the queue pair itself, chains of answers
constexpr u64 kReceiveState = 128;    // beside the memory of a receive that has some
constexpr u64 kPath = 64 << 10;	      // protection domain, counters of each CPU, INFO, sysfs
constexpr u64 kRegion = 5 << 10;      // a page table of at least a page, and its list
constexpr u64 kRegionPage = 16;
constexpr u64 kPathSlot = 64; // address and answer of each request

constexpr u64 queue_slots(u32 count)
{
	u64 n = 1;
	while (n < u64{count} + kDrainRoom + 1)
		n <<= 1;
	return n;
}
} // namespace cost

// `receive_bytes`: memory of each receive, 0 where they have none.
constexpr u64 connection_bytes(const QueuePlan &queues, u32 receive_bytes)
{
	const u64 receives =
	    receive_bytes ? queues.receives * (receive_bytes + cost::kReceiveState) : 0;
	return cost::kConnection + cost::queue_slots(queues.sends) * cost::kSend +
	       cost::queue_slots(queues.receives) * cost::kReceive +
	       cost::queue_slots(queues.sends + queues.receives) * cost::kCompletion + receives;
}

// Before any connection; so many are announced.
constexpr u64 path_bytes(u32 connections)
{
	return cost::kPath + u64{connections} * sizeof(void *);
}

constexpr u64 regions_bytes(u32 regions, u32 pages_per_region, u32 depth)
{
	return regions * (cost::kRegion + pages_per_region * cost::kRegionPage) +
	       depth * cost::kPathSlot;
}

constexpr u64 session_bytes(u32 depth, u32 chunk_size, u32 slot_bytes)
{
	return u64{depth} * (u64{chunk_size} + slot_bytes);
}

// Bytes. Who has proven itself, by a key or from where one was proven of late, is no stranger.
struct MemoryLimits {
	u64 all;
	u64 of_host;
	u64 strangers; // together: less where there are keys, so that there is room for these
	u64 half_open; // of strangers; others may have twice as much, in the same time
};

// Of clients with a hundred CPUs, on however small a machine, as long as that is not half of it.
constexpr u64 kHalfOpenBytesAlways = u64{256} << 20;

// Of what half-open paths may have, so much is kept free of those that are silent: for who comes
// while they end.
constexpr u64 kKeptOfShare = 4;

// `max_bytes` and `max_of_host` are the administrator's; 0 is three quarters, of the machine's
// memory and of what all may have. What is left is for the machine itself, and for other hosts.
constexpr MemoryLimits memory_limits(u64 machine, u64 max_bytes, u64 max_of_host, bool has_keys)
{
	MemoryLimits limits{};
	limits.all = max_bytes ? max_bytes : machine / 4 * 3;
	limits.of_host = cxxrt::min_of(limits.all, max_of_host ? max_of_host : limits.all / 4 * 3);
	limits.strangers = has_keys ? limits.all - limits.all / 8 : limits.all;
	limits.half_open = limits.all / 4;
	if (limits.half_open < kHalfOpenBytesAlways)
		limits.half_open = cxxrt::min_of(kHalfOpenBytesAlways, limits.all / 2);
	return limits;
}

// What is there. `half_open`: of those that stand as the one that asks does, strangers or not.
struct MemoryLoad {
	u64 all = 0;
	u64 of_host = 0;
	u64 strangers = 0;
	u64 half_open = 0;
	u64 half_open_of_host = 0;
};

// What asks for more.
struct MemoryClaim {
	u64 bytes;
	u64 own; // that the same path has already
	bool stranger;
	bool half_open;
};

constexpr Quota check_memory(const MemoryLoad &load, const MemoryClaim &claim,
			     const MemoryLimits &limits)
{
	const auto fits = [&](u64 held, u64 limit) {
		return held <= limit && claim.bytes <= limit - held;
	};
	if (!fits(load.of_host, limits.of_host))
		return Quota::MemoryPerHost;
	if (!fits(load.all, limits.all) ||
	    (claim.stranger && !fits(load.strangers, limits.strangers)))
		return Quota::Memory;
	if (!claim.half_open)
		return Quota::Fits;
	// A path that does not fit into the share alone would wait in vain for others to finish.
	if (!fits(claim.own, limits.half_open))
		return Quota::Memory;
	if (!fits(load.half_open_of_host, limits.half_open))
		return Quota::HalfOpenOfHost;
	const u64 share = claim.stranger ? limits.half_open : 2 * limits.half_open;
	return fits(load.half_open, share) ? Quota::Fits : Quota::HalfOpen;
}

} // namespace rtrs
