// SPDX-License-Identifier: GPL-2.0
// Allocation of chunks.
#include <rtrs/server/chunk_pool.hh>

namespace rtrs::server {

Result<ChunkPool> ChunkPool::create(u32 count, u32 size, int node)
{
	ChunkPool pool;
	pool.pages_ = TRY(cxxrt::Array<page *>::create(count));
	pool.size_ = size;
	const gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_COMP | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	for (page *&chunk : pool.pages_) {
		chunk = alloc_pages_node(node, gfp, get_order(size));
		if (!chunk)
			return err::enomem;
		// Zeroing many of these takes long.
		cond_resched();
	}
	return pool;
}

void ChunkPool::reset()
{
	for (page *chunk : pages_)
		if (chunk)
			__free_pages(chunk, get_order(size_));
	pages_.reset();
}

} // namespace rtrs::server
