// SPDX-License-Identifier: GPL-2.0
// Sizes that the server offers, and how its chunks spread over memory regions (protocol A.4, A.7,
// F.5). Pure.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/immediate.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// What is wrong with the server's parameters, so that the refusal can name it.
enum class GeometryFault : u8 {
	None,
	ChunkTooSmall,	   // < kMinChunkSize, or no room beside the header
	ChunkNoPowerOfTwo, //
	DepthOutOfRange,   // not 1 to kMaxQueueDepth
	TooManyBits,	   // bits(depth) + bits(chunk) > 28
};

// `header_size` is the server's page size. Signed, as module parameters are.
constexpr GeometryFault check_geometry(s64 chunk, s64 depth, u32 header_size)
{
	if (chunk < kMinChunkSize)
		return GeometryFault::ChunkTooSmall;
	if (chunk & (chunk - 1))
		return GeometryFault::ChunkNoPowerOfTwo;
	if (chunk <= header_size)
		return GeometryFault::ChunkTooSmall;
	if (depth < 1 || depth > kMaxQueueDepth)
		return GeometryFault::DepthOutOfRange;
	if (chunk > (s64{1} << kImmPayloadBits) ||
	    bits_for(static_cast<u32>(chunk)) + bits_for(static_cast<u32>(depth)) > kImmPayloadBits)
		return GeometryFault::TooManyBits;
	return GeometryFault::None;
}

constexpr const char *to_text(GeometryFault f)
{
	switch (f) {
	case GeometryFault::None:
		return "valid";
	case GeometryFault::ChunkTooSmall:
		return "max_chunk_size is too small";
	case GeometryFault::ChunkNoPowerOfTwo:
		return "max_chunk_size is not a power of two";
	case GeometryFault::DepthOutOfRange:
		return "sess_queue_depth is not between 1 and 65535";
	case GeometryFault::TooManyBits:
		return "max_chunk_size times sess_queue_depth exceeds 28 bits";
	}
	return "?";
}

// `count` regions of `chunks_per_region` chunks each; their product is the queue depth.
struct RegionSplit {
	u32 count;
	u32 chunks_per_region;
};

// With always_invalidate each chunk has its own region. Otherwise the fewest that divide the depth
// evenly and hold at most `max_pages` chunks each (a chunk is one page of the region). EINVAL if
// depth or max_pages is 0.
constexpr Result<RegionSplit> split_chunks(QueueDepth depth, u32 max_pages, bool always_invalidate)
{
	if (depth.value == 0 || max_pages == 0)
		return err::einval;
	if (always_invalidate)
		return RegionSplit{depth.value, 1};
	u32 count = (depth.value - 1) / max_pages + 1;
	while (depth.value % count != 0)
		count++;
	return RegionSplit{count, depth.value / count};
}

// The page size that a region of chunks is registered with: the largest of those that the device
// knows (a bit for each power of two) which a chunk has a whole number of. 0 if there is none of at
// least a page of the machine. A device takes any other size for one that it knows, and lets its
// peer write elsewhere.
constexpr u32 region_page_size(u64 device_sizes, u32 chunk_size, u32 machine_page)
{
	for (u32 size = chunk_size; size >= machine_page && size; size >>= 1)
		if (device_sizes & size)
			return size;
	return 0;
}

// Work requests of a connection's queues.
struct QueuePlan {
	u32 sends;
	u32 receives;
};

// Of the service connection, whatever the session's queue is. Registrations of the handshake wait
// for room; after it there are answers to a few messages, to heartbeats and to fences. Whoever
// sends faster than that is received waits, as his adapter repeats. In-tree provides many times
// that (protocol A.7), which is memory that nobody uses.
constexpr u32 kServiceWrs = 256;
constexpr u32 kServiceReceives = 128;
// What rtrs-core adds to each queue.
constexpr u32 kDrainRoom = 1;
// Fewer sends than these serve no connection.
constexpr u32 kFewestSends = 64;

// Protocol A.7, and what the device has at the most. Where that is less, answers wait for room, and
// a client that is ahead of the receives tries again. One more of the service connection's receives
// is that of INFO_REQ.
constexpr QueuePlan plan_queues(bool service, u32 depth, u32 sends_per_request, u32 device_wrs,
				u32 device_cqes)
{
	const u32 wrs = device_wrs - kDrainRoom;
	const u32 cqes = device_cqes - 2 * kDrainRoom;
	QueuePlan plan{};
	plan.receives = cxxrt::min_of(wrs, service ? kServiceReceives + 1 : depth);
	plan.receives = cxxrt::min_of(plan.receives, cqes / 2);
	plan.sends = cxxrt::min_of(wrs, service ? kServiceWrs : sends_per_request * depth);
	plan.sends = cxxrt::min_of(plan.sends, cqes - plan.receives);
	return plan;
}

// Connections of a client's path beside the service connection: one for each hardware queue, shared
// if there are more of these than a server takes, and one for each polled queue.
constexpr u32 irq_connections(u32 queues, u32 poll_queues)
{
	return cxxrt::min_of(queues, kMaxPathConnections - 1 - poll_queues);
}

// Connections of a path beside the service connection.
struct ConnectionSplit {
	u32 irq;
	u32 poll;
	constexpr u32 total() const { return 1 + irq + poll; }
	constexpr bool operator==(const ConnectionSplit &) const = default;
};

// What the client makes of `total` connections, kMinConnections at least, where it has asked for
// more (protocol J.5). One that interrupts is left always; without one of its own a poll queue uses
// those.
constexpr ConnectionSplit split_connections(const ConnectionSplit &asked, u32 total)
{
	const u32 rest = cxxrt::min_of(total, asked.total()) - 1;
	const u32 poll = cxxrt::min_of(asked.poll, rest - 1);
	return {cxxrt::min_of(asked.irq, rest - poll), poll};
}

// The completion vector of the `index`th connection of `count`. Vectors are the CPUs', mostly in
// their order, and a few connections are shared by neighbours among those.
constexpr u32 spread_vector(u32 index, u32 count, u32 vectors)
{
	return index < count && count < vectors ? static_cast<u32>(u64{index} * vectors / count)
						: index % vectors;
}

// How many a server gives who would have `limit`, 0 for any number, to a client that asks for
// `asked` and can do with fewer.
constexpr u32 grant_connections(u32 asked, u32 limit)
{
	return limit ? cxxrt::min_of(asked, limit < kMinConnections ? kMinConnections : limit)
		     : asked;
}

// So many that one is left for all others.
constexpr u32 kMaxPollQueues = kMaxPathConnections - 2;

} // namespace rtrs
