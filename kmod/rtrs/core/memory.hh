// SPDX-License-Identifier: GPL-2.0
// Memory that an RDMA device reaches: DmaBuffer for messages, MemoryRegion for fast registration.
//
// Both end before the device reference that they were made with.
#pragma once

#include <cxxrt/err_ptr.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <rtrs/core/device.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// Zeroed kernel memory, mapped for DMA in one direction for its whole life. Whoever reads what
// the device wrote calls sync_for_cpu() first; whoever changed what the device will read calls
// sync_for_device() after.
class DmaBuffer {
public:
	constexpr DmaBuffer() = default;
	// ENOMEM. May sleep.
	static Result<DmaBuffer> create(ib_device *ibdev, usize size, dma_data_direction dir)
	{
		// raw: DMA needs memory in one piece, which an Array is not
		void *memory = kzalloc(size, GFP_KERNEL);
		if (!memory)
			return err::enomem;
		const u64 dma = ib_dma_map_single(ibdev, memory, size, dir);
		if (ib_dma_mapping_error(ibdev, dma)) {
			kfree(memory); // raw: as above
			return err::enomem;
		}
		DmaBuffer b;
		b.ibdev_ = ibdev;
		b.memory_ = static_cast<u8 *>(memory);
		b.size_ = size;
		b.dma_ = dma;
		b.dir_ = dir;
		return b;
	}
	DmaBuffer(DmaBuffer &&o) { take(o); }
	DmaBuffer &operator=(DmaBuffer &&o)
	{
		if (this != &o) {
			reset();
			take(o);
		}
		return *this;
	}
	~DmaBuffer() { reset(); }

	void reset()
	{
		if (!memory_)
			return;
		ib_dma_unmap_single(ibdev_, dma_, size_, dir_);
		kfree(memory_); // raw: from create()
		memory_ = nullptr;
	}
	u8 *data() const { return memory_; }
	usize size() const { return size_; }
	u64 dma_addr() const { return dma_; }
	void sync_for_cpu(usize offset, usize size) const
	{
		ib_dma_sync_single_for_cpu(ibdev_, dma_ + offset, size, dir_);
	}
	void sync_for_device(usize offset, usize size) const
	{
		ib_dma_sync_single_for_device(ibdev_, dma_ + offset, size, dir_);
	}
	explicit operator bool() const { return memory_ != nullptr; }

private:
	void take(DmaBuffer &o)
	{
		ibdev_ = o.ibdev_;
		memory_ = cxxrt::exchange(o.memory_, static_cast<u8 *>(nullptr));
		size_ = o.size_;
		dma_ = o.dma_;
		dir_ = o.dir_;
	}

	ib_device *ibdev_ = nullptr;
	u8 *memory_ = nullptr;
	usize size_ = 0;
	u64 dma_ = 0;
	dma_data_direction dir_ = DMA_NONE;
};

// A fast-registration region. Its key changes in the low 8 bits with each renew_key(), so that a
// peer's old key opens nothing. On a device that repeats local work the key stays: there a
// registration begins with the invalidation of the key, and two keys can't be told apart.
class MemoryRegion {
public:
	constexpr MemoryRegion() = default;
	// Room for `max_pages` pages. ENOMEM or what the device says. May sleep.
	static Result<MemoryRegion> create(const PathDevice &device, ib_mr_type type, u32 max_pages)
	{
		MemoryRegion r;
		r.mr_ = TRY(cxxrt::from_err_ptr(ib_alloc_mr(device.pd(), type, max_pages)));
		r.repeatable_ = device.replays_local_wrs();
		return r;
	}
	MemoryRegion(MemoryRegion &&o)
	    : mr_(cxxrt::exchange(o.mr_, static_cast<ib_mr *>(nullptr))), repeatable_(o.repeatable_)
	{
	}
	MemoryRegion &operator=(MemoryRegion &&o)
	{
		if (this != &o) {
			reset();
			mr_ = cxxrt::exchange(o.mr_, static_cast<ib_mr *>(nullptr));
			repeatable_ = o.repeatable_;
		}
		return *this;
	}
	~MemoryRegion() { reset(); }

	void reset()
	{
		if (ib_mr *mr = cxxrt::exchange(mr_, static_cast<ib_mr *>(nullptr)))
			ib_dereg_mr(mr);
	}

	// Gives the region the pages of a DMA-mapped list. EINVAL when not all of it fits. The
	// list must stay mapped while the region is registered.
	Status map(scatterlist *sg, int nents, unsigned int page_size)
	{
		const int n = ib_map_mr_sg(mr_, sg, nents, nullptr, page_size);
		if (n < 0)
			return Error::from_code(n);
		if (n < nents)
			return err::einval;
		return {};
	}
	void renew_key()
	{
		if (!repeatable_)
			ib_update_fast_reg_key(mr_, ib_inc_rkey(mr_->rkey));
	}
	// Whether a registration has to stand being executed twice.
	bool repeatable() const { return repeatable_; }

	Rkey rkey() const { return {mr_->rkey}; }
	u32 lkey() const { return mr_->lkey; }
	u64 iova() const { return mr_->iova; }
	u64 length() const { return mr_->length; }
	explicit operator bool() const { return mr_ != nullptr; }

	// Fills a registration under the present key; `next` follows it in the chain.
	void fill_reg_wr(ib_reg_wr &wr, ib_cqe *cqe, int access, ib_send_wr *next) const
	{
		format_reg_wr(wr, cqe, access, next);
		set_reg_wr(wr);
	}
	// The same in two parts: of any region, and what makes it this one's.
	static void format_reg_wr(ib_reg_wr &wr, ib_cqe *cqe, int access, ib_send_wr *next)
	{
		wr = {};
		wr.wr.opcode = IB_WR_REG_MR;
		wr.wr.wr_cqe = cqe;
		wr.wr.next = next;
		wr.access = access;
	}
	void set_reg_wr(ib_reg_wr &wr) const
	{
		wr.mr = mr_;
		wr.key = mr_->rkey;
	}
	// Fills a local invalidation of `key`.
	static void fill_local_inv(ib_send_wr &wr, ib_cqe *cqe, Rkey key)
	{
		wr = {};
		wr.opcode = IB_WR_LOCAL_INV;
		wr.wr_cqe = cqe;
		wr.ex.invalidate_rkey = key.value;
	}

private:
	ib_mr *mr_ = nullptr;
	bool repeatable_ = false;
};

// The work requests that register a region under its present key: REG_MR, and on a device that
// repeats local work LOCAL_INV before it, the guard. Its first execution changes nothing, but it
// waits until all before it is acknowledged, so neither will be executed again: what is repeated
// begins behind them. One guard does for all registrations of a chain that follow each other. Lives
// until it is posted.
class Registration {
public:
	Registration() = default;
	// `region` is not registered. `guarded_before`: it comes right behind another registration
	// of the same chain.
	void fill(const MemoryRegion &region, ib_cqe *cqe, int access, bool guarded_before = false)
	{
		MemoryRegion::format_reg_wr(reg_, cqe, access, nullptr);
		if (region.repeatable() && !guarded_before)
			MemoryRegion::fill_local_inv(guard_, cqe, Rkey{0});
		set(region, guarded_before);
	}
	// The same in two parts, for who registers one region after the other: what stays, once,
	// and what each changes.
	void format(ib_cqe *cqe, int access)
	{
		MemoryRegion::format_reg_wr(reg_, cqe, access, nullptr);
		MemoryRegion::fill_local_inv(guard_, cqe, Rkey{0});
	}
	void set(const MemoryRegion &region, bool guarded_before)
	{
		region.set_reg_wr(reg_);
		guarded_ = region.repeatable() && !guarded_before;
		if (guarded_) [[unlikely]] {
			guard_.ex.invalidate_rkey = region.rkey().value;
			guard_.next = &reg_.wr;
		}
	}
	Registration(const Registration &) = delete;
	Registration &operator=(const Registration &) = delete;

	// After fill().
	ib_send_wr &first() { return guarded_ ? guard_ : reg_.wr; }
	ib_send_wr &last() { return reg_.wr; }
	u32 guards() const { return guarded_; }
	enum : u32 { kMaxGuards = 1 };

private:
	ib_send_wr guard_;
	ib_reg_wr reg_;
	bool guarded_ = false;
};

} // namespace rtrs
