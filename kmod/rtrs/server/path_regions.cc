// SPDX-License-Identifier: GPL-2.0
// Mapping of a session's chunks for the device of one path.
#include <rtrs/server/path_regions.hh>

#include <cxxrt/log.hh>

using namespace cxxrt;

namespace rtrs::server {

// Pages that a region has room for beyond those it maps: soft-RoCE of 6.1 reads the entry that
// follows the page it has just copied from, and no such entry exists behind a region that is full
// to the brim.
constexpr u32 kSpare = 1;

// The region goes before its mapping: while it is registered, the peer can reach the memory. The
// chunks are in use: by requests of other paths, and those of this one that a disk still has. What
// came over this device was synchronised when it was looked at; to do it again, for all chunks,
// would put back what a bounce buffer holds since then.
PathRegions::Region::~Region()
{
	mr.reset();
	if (mapped)
		ib_dma_unmap_sg_attrs(ibdev, table.sgl, table.orig_nents, DMA_BIDIRECTIONAL,
				      DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(&table);
}

Status PathRegions::Region::map(ib_device *device, const ChunkPool &chunks, u32 first, u32 count)
{
	ibdev = device;
	TRY(Status::from_code(sg_alloc_table(&table, count, GFP_KERNEL)));
	scatterlist *sg;
	u32 i;
	for_each_sg(table.sgl, sg, count, i)
	    sg_set_page(sg, chunks.pages(first + i), chunks.chunk_size(), 0);
	mapped = ib_dma_map_sg(device, table.sgl, table.orig_nents, DMA_BIDIRECTIONAL);
	return mapped ? Status() : Status(err::enomem);
}

// An IOMMU may merge neighbours: the mapped list has fewer and longer entries than chunks, and the
// address of a chunk is found by walking these (protocol G.1-67).
Status PathRegions::add_addresses(const Region &region, u32 first, u32 count, u32 chunk_size)
{
	u32 found = 0;
	scatterlist *sg;
	int i;
	for_each_sg(region.table.sgl, sg, region.mapped, i)
	{
		const u32 length = sg_dma_len(sg);
		if (length % chunk_size || length / chunk_size > count - found)
			return err::einval;
		for (u32 at = 0; at < length; at += chunk_size)
			dma_[first + found++] = sg_dma_address(sg) + at;
	}
	return found == count ? Status() : Status(err::einval);
}

Result<RegionPlan> PathRegions::plan(const PathDevice &device, const ChunkPool &chunks,
				     bool always_invalidate)
{
	const u32 chunk_size = chunks.chunk_size();
	const u32 page_size = region_page_size(device.attrs().page_size_cap, chunk_size, PAGE_SIZE);
	if (!page_size) {
		log_error_limited(dev_name(&device.ibdev()->dev),
				  "the device registers no pages of %lu to %u bytes", PAGE_SIZE,
				  chunk_size);
		return err::eopnotsupp;
	}
	const u32 limit = device.attrs().max_fast_reg_page_list_len;
	const u32 pages = limit > kSpare ? limit - kSpare : limit;
	const u32 per_chunk = chunk_size / page_size;
	if (pages < per_chunk) {
		log_error_limited(
		    dev_name(&device.ibdev()->dev),
		    "a region of the device has room for %u pages of %u bytes, and not "
		    "for a chunk of %u",
		    pages, page_size, chunk_size);
		return err::eopnotsupp;
	}
	return RegionPlan{
	    .split = TRY(split_chunks({chunks.count()}, pages / per_chunk, always_invalidate)),
	    .page_size = page_size,
	    .pages_per_chunk = per_chunk,
	};
}

Result<PathRegions> PathRegions::create(const PathDevice &device, const ChunkPool &chunks,
					const RegionPlan &plan)
{
	const u32 chunk_size = chunks.chunk_size();
	const RegionSplit split = plan.split;

	PathRegions all;
	all.ibdev_ = device.ibdev();
	all.regions_ = TRY(Array<Region>::create(split.count));
	all.dma_ = TRY(Array<u64>::create(chunks.count()));
	for (u32 i = 0; i < split.count; i++) {
		Region &r = all.regions_[i];
		const u32 first = i * split.chunks_per_region;
		TRY(r.map(device.ibdev(), chunks, first, split.chunks_per_region));
		TRY(all.add_addresses(r, first, split.chunks_per_region, chunk_size));
		r.mr = TRY(MemoryRegion::create(device, IB_MR_TYPE_MEM_REG, plan.pages() + kSpare));
		TRY(r.mr.map(r.table.sgl, r.mapped, plan.page_size));
		// The key that the device gave out first may be guessed by whoever had it before.
		r.mr.renew_key();
		cond_resched();
	}
	return all;
}

void PathRegions::reset()
{
	regions_.reset();
	dma_.reset();
}

} // namespace rtrs::server
