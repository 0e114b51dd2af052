// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/block_device.hh>

#include <cxxrt/log.hh>

namespace rnbd::server {

Result<BlockDevice> BlockDevice::open(dev_t number, bool write, void *holder)
{
	const cxxrt::BlockMode mode =
	    write ? cxxrt::kBlockRead | cxxrt::kBlockWrite : cxxrt::kBlockRead;
	BlockDevice device(TRY(cxxrt::OpenBlockDevice::open(number, mode, holder)));
	// Drivers need not look at the mode.
	if (write && device.read_only())
		return err::eacces;
	if (bdev_is_zoned(device.get())) {
		log_warning_limited(device.disk_name(),
				    "Not exported: it is a zoned device, and clients write as they "
				    "like, not at the write pointer");
		return err::eopnotsupp;
	}
	// Kernels from 6.15 on have such disks. Kernels of clients before that have none at all.
	if (device.logical_block_size() > PAGE_SIZE) {
		log_warning_limited(device.disk_name(),
				    "Not exported: its blocks of %u bytes are larger than a page, "
				    "and clients have no such disks",
				    device.logical_block_size());
		return err::eopnotsupp;
	}
	return device;
}

namespace {

// Where submit_bio() ends in blk-mq itself, what could sleep in it is known: places in the queue
// and its freezing, which REQ_NOWAIT covers; queue_rq(), which may sleep with BLK_MQ_F_BLOCKING
// only; the buffer for protection information, which waits for memory. A bio-based driver runs its
// own code in there, whatever it says of REQ_NOWAIT: md waits for its superblock. A stacked one
// hands requests on to other drivers, and its next table may name others yet.
bool asked_directly(block_device *bdev)
{
	request_queue *queue = bdev_get_queue(bdev);
	return queue_is_mq(queue) &&
	       !(queue->tag_set->flags & (BLK_MQ_F_BLOCKING | BLK_MQ_F_STACKING)) &&
	       !cxxrt::adds_protection_information(queue) && bdev_nowait(bdev);
}

} // namespace

BlockDevice::BlockDevice(cxxrt::OpenBlockDevice opened)
    : opened_(cxxrt::move(opened)), direct_(asked_directly(get()))
{
}

// The kernel's own record of writes that were lost. A number that was shown is marked, so that the
// next error gets another.
void BlockDevice::note_loss()
{
	errseq_set(&cxxrt::page_cache_of(get())->wb_err, -EIO);
}

u32 BlockDevice::losses() const
{
	errseq_t seen = 0;
	errseq_check_and_advance(&cxxrt::page_cache_of(get())->wb_err, &seen);
	return seen;
}

DeviceProperties BlockDevice::properties() const
{
	const request_queue *queue = bdev_get_queue(get());
	const u32 block = logical_block_size();
	DeviceProperties p{};
	p.capacity = capacity();
	p.logical_block_size = block;
	p.physical_block_size = bdev_physical_block_size(get());
	p.max_hw_sectors = queue_max_hw_sectors(queue);
	p.max_segments = queue_max_segments(queue);
	p.max_discard_sectors = usable_range(bdev_max_discard_sectors(get()), block);
	if (p.max_discard_sectors) {
		p.discard_granularity = bdev_discard_granularity(get());
		p.discard_alignment = bdev_discard_alignment(get());
	}
	p.max_write_zeroes_sectors = usable_range(bdev_write_zeroes_sectors(get()), block);
	p.max_secure_erase_sectors = usable_range(bdev_max_secure_erase_sectors(get()), block);
	p.writeback = bdev_write_cache(get());
	p.fua = bdev_fua(get());
	return p;
}

DeviceTopology BlockDevice::topology() const
{
	return {.physical_block_size = bdev_physical_block_size(get()),
		.io_min = bdev_io_min(get()),
		.io_opt = static_cast<u32>(bdev_io_opt(get())),
		.alignment_offset = bdev_alignment_offset(get()),
		.rotational = cxxrt::is_rotational(get())};
}

} // namespace rnbd::server
