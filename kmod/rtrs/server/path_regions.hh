// SPDX-License-Identifier: GPL-2.0
// How one path's device reaches the chunks of the session: DMA mappings and memory regions
// (protocol A.4, A.7).
//
// With always_invalidate each chunk has a region of its own, whose key is good for one request.
// Otherwise a few regions cover all chunks under keys that stay. Ends before the device reference
// that it was made with, when the path's queue pairs are drained.
#pragma once

#include <cxxrt/memory.hh>
#include <rtrs/core/memory.hh>
#include <rtrs/pure/geometry.hh>
#include <rtrs/server/chunk_pool.hh>

namespace rtrs::server {

// How the chunks are registered with a device.
struct RegionPlan {
	RegionSplit split;
	u32 page_size;
	u32 pages_per_chunk;

	u32 pages() const { return split.chunks_per_region * pages_per_chunk; }
};

class PathRegions {
public:
	PathRegions() = default;
	// EOPNOTSUPP, with words in the log, for a device that knows no page size that fits, or has
	// no room in a region for a chunk.
	static Result<RegionPlan> plan(const PathDevice &device, const ChunkPool &chunks,
				       bool always_invalidate);
	// Maps all chunks and gives the regions their pages and first keys; nothing is registered
	// with the device yet. ENOMEM, EINVAL if the device cannot map the chunks as they are. May
	// sleep.
	static Result<PathRegions> create(const PathDevice &device, const ChunkPool &chunks,
					  const RegionPlan &plan);
	PathRegions(PathRegions &&o) = default;
	PathRegions &operator=(PathRegions &&o) = default;

	// May sleep.
	void reset();

	u32 count() const { return static_cast<u32>(regions_.size()); }
	MemoryRegion &region(u32 i) const { return regions_[i].mr; }
	// What the peer is told of region `i` under its present key.
	RemoteBuffer remote(u32 i) const
	{
		const MemoryRegion &mr = regions_[i].mr;
		return {{mr.iova()}, mr.rkey(), {static_cast<u32>(mr.length())}};
	}

	// Local DMA address of a chunk.
	u64 dma_addr(Slot slot) const { return dma_[slot.value]; }
	// Before the CPU reads what the peer wrote, and before the device reads what the CPU wrote.
	void sync_for_cpu(Slot slot, u32 offset, u32 size) const
	{
		ib_dma_sync_single_for_cpu(ibdev_, dma_[slot.value] + offset, size,
					   DMA_BIDIRECTIONAL);
	}
	void sync_for_device(Slot slot, u32 size) const
	{
		ib_dma_sync_single_for_device(ibdev_, dma_[slot.value], size, DMA_BIDIRECTIONAL);
	}

	static constexpr int access() { return IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE; }

private:
	// The scatterlist of a run of chunks, mapped while `mapped` is not 0.
	struct Region {
		Region() = default;
		Region(const Region &) = delete;
		Region &operator=(const Region &) = delete;
		~Region();

		Status map(ib_device *device, const ChunkPool &chunks, u32 first, u32 count);

		ib_device *ibdev = nullptr;
		sg_table table = {};
		int mapped = 0;
		MemoryRegion mr;
	};

	Status add_addresses(const Region &region, u32 first, u32 count, u32 chunk_size);

	ib_device *ibdev_ = nullptr;
	cxxrt::Array<Region> regions_;
	cxxrt::Array<u64> dma_;
};

} // namespace rtrs::server
