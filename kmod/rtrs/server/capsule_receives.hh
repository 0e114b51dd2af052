// SPDX-License-Identifier: GPL-2.0
// Memory for capsules (protocol J.2): a receive queue's entries, one capsule each. A capsule is
// copied out, and its receive posted again, before it is looked at.
#pragma once

#include <cxxrt/memory.hh>
#include <rtrs/core/memory.hh>
#include <rtrs/wire/capsule.hh>

namespace rtrs::server {

class ServerConnection;

class CapsuleReceives {
public:
	struct Entry {
		ib_cqe cqe = {};
		ServerConnection *con = nullptr;
		DmaBuffer *page = nullptr;
		u32 offset = 0; // in the page
	};

	CapsuleReceives() = default;
	CapsuleReceives(const CapsuleReceives &) = delete;
	CapsuleReceives &operator=(const CapsuleReceives &) = delete;
	// Memory that is mapped for a device must not outlive the reference to it: see reset().
	~CapsuleReceives() { WARN_ON(pages_.size()); }

	// ENOMEM. May sleep.
	Status provide(ib_device *ibdev, ServerConnection &con, u32 count,
		       void (*done)(ib_cq *cq, ib_wc *wc))
	{
		pages_ = TRY(cxxrt::Array<DmaBuffer>::create(DIV_ROUND_UP(count, kPerPage)));
		for (DmaBuffer &page : pages_)
			page = TRY(DmaBuffer::create(ibdev, kPageBytes, DMA_FROM_DEVICE));
		entries_ = TRY(cxxrt::Array<Entry>::create(count));
		for (u32 i = 0; i < count; i++) {
			Entry &e = entries_[i];
			e.cqe.done = done;
			e.con = &con;
			e.page = &pages_[i / kPerPage];
			e.offset = i % kPerPage * kMaxCapsule;
		}
		return {};
	}
	// The queue pair is gone; the reference to the device is not.
	void reset()
	{
		entries_.reset();
		pages_.reset();
	}

	explicit operator bool() const { return entries_.size() != 0; }
	Entry *begin() const { return entries_.begin(); }
	Entry *end() const { return entries_.end(); }

	static Entry &of(const ib_wc *wc) { return *container_of(wc->wr_cqe, Entry, cqe); }
	// Any context.
	static Status post(ib_qp *qp, Entry &e)
	{
		ib_sge sge{e.page->dma_addr() + e.offset, kMaxCapsule, qp->pd->local_dma_lkey};
		ib_recv_wr wr{};
		wr.wr_cqe = &e.cqe;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		return Status::from_code(ib_post_recv(qp, &wr, nullptr));
	}
	// Copies what came, at most kMaxCapsule bytes, and perhaps what lies behind it, to a buffer
	// of that size; how many came.
	static u32 copy(const Entry &e, u32 size, u8 *to)
	{
		size = cxxrt::min_of(size, kMaxCapsule);
		e.page->sync_for_cpu(e.offset, size);
		const u8 *from = e.page->data() + e.offset;
		// A block request is no longer.
		if (size <= kMaxCapsule / 2) [[likely]]
			__builtin_memcpy(to, from, kMaxCapsule / 2);
		else
			__builtin_memcpy(to, from, kMaxCapsule);
		return size;
	}

private:
	// Single pages: nothing that is hard to get when memory is fragmented.
	enum : u32 { kPageBytes = 4096, kPerPage = kPageBytes / kMaxCapsule };

	cxxrt::Array<DmaBuffer> pages_;
	cxxrt::Array<Entry> entries_;
};

} // namespace rtrs::server
