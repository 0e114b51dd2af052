// SPDX-License-Identifier: GPL-2.0
// Memory for capsules (protocol J.2): a receive queue's entries, one capsule each. A capsule is its
// slot's, as a copy, when its receive is posted again.
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
		ib_sge sge = {};
		ib_recv_wr wr = {}; // as it is posted each time

		// What came, of so many bytes: of the device's until it is posted.
		const u8 *data(u32 size) const
		{
			page->sync_for_cpu(offset, size);
			return page->data() + offset;
		}
	};

	CapsuleReceives() = default;
	CapsuleReceives(const CapsuleReceives &) = delete;
	CapsuleReceives &operator=(const CapsuleReceives &) = delete;
	// Memory that is mapped for a device must not outlive the reference to it: see reset().
	~CapsuleReceives() { WARN_ON(pages_.size()); }

	// ENOMEM. May sleep.
	Status provide(const PathDevice &device, ServerConnection &con, u32 count,
		       void (*done)(ib_cq *cq, ib_wc *wc))
	{
		pages_ = TRY(cxxrt::Array<DmaBuffer>::create(DIV_ROUND_UP(count, kPerPage)));
		for (DmaBuffer &page : pages_)
			page = TRY(DmaBuffer::create(device.ibdev(), kPageBytes, DMA_FROM_DEVICE));
		entries_ = TRY(cxxrt::Array<Entry>::create(count));
		for (u32 i = 0; i < count; i++) {
			Entry &e = entries_[i];
			e.cqe.done = done;
			e.con = &con;
			e.page = &pages_[i / kPerPage];
			e.offset = i % kPerPage * kMaxCapsule;
			e.sge = {e.page->dma_addr() + e.offset, kMaxCapsule,
				 device.pd()->local_dma_lkey};
			e.wr.wr_cqe = &e.cqe;
			e.wr.sg_list = &e.sge;
			e.wr.num_sge = 1;
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

	static Entry &of(const ib_cqe *cqe) { return *container_of(cqe, Entry, cqe); }
	// Any context.
	static Status post(ib_qp *qp, Entry &e)
	{
		e.wr.next = nullptr;
		return Status::from_code(ib_post_recv(qp, &e.wr, nullptr));
	}

private:
	// Single pages: nothing that is hard to get when memory is fragmented.
	enum : u32 { kPageBytes = 4096, kPerPage = kPageBytes / kMaxCapsule };

	cxxrt::Array<DmaBuffer> pages_;
	cxxrt::Array<Entry> entries_;
};

} // namespace rtrs::server
