// SPDX-License-Identifier: GPL-2.0
// The memory that a session's clients write into: one chunk per slot (protocol A.4, A.7).
//
// Each chunk is physically contiguous and begins zeroed, so that no answer can carry what the
// memory held before (protocol G.3-6). All paths of the session share the chunks; each maps them
// for its own device.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/memory.hh>
#include <rtrs/wire/units.hh>

namespace rtrs::server {

class ChunkPool {
public:
	ChunkPool() = default;
	// `size` is a power of two, at least a page. ENOMEM, without waking the OOM killer: a
	// client's wish is no reason to end a process here. May sleep.
	static Result<ChunkPool> create(u32 count, u32 size, int node);
	ChunkPool(ChunkPool &&o) = default;
	ChunkPool &operator=(ChunkPool &&o)
	{
		if (this != &o) {
			reset();
			pages_ = cxxrt::move(o.pages_);
			size_ = o.size_;
		}
		return *this;
	}
	~ChunkPool() { reset(); }

	// Frees the chunks: no device has them mapped any more. May sleep.
	void reset();

	u32 count() const { return static_cast<u32>(pages_.size()); }
	u32 chunk_size() const { return size_; }
	page *pages(u32 chunk) const { return pages_[chunk]; }
	u8 *data(u32 chunk) const { return static_cast<u8 *>(page_address(pages_[chunk])); }

private:
	cxxrt::Array<page *> pages_;
	u32 size_ = 0;
};

} // namespace rtrs::server
