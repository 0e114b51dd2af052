// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/block_device.hh>

#include <cxxrt/log.hh>

namespace rnbd::server {

Result<BlockDevice> BlockDevice::open(dev_t number, bool write)
{
	const cxxrt::BlockMode mode =
	    write ? cxxrt::kBlockRead | cxxrt::kBlockWrite : cxxrt::kBlockRead;
	BlockDevice device(TRY(cxxrt::OpenBlockDevice::open(number, mode)));
	// Drivers need not look at the mode.
	if (write && device.read_only())
		return err::eacces;
	if (bdev_is_zoned(device.get())) {
		log_warning_limited(device.disk_name(),
				    "Not exported: it is a zoned device, and clients write as they "
				    "like, not at the write pointer");
		return err::eopnotsupp;
	}
	return device;
}

BlockDevice::BlockDevice(cxxrt::OpenBlockDevice opened) : opened_(cxxrt::move(opened))
{
	const blk_mq_tag_set *tags = bdev_get_queue(get())->tag_set;
	may_block_ = tags && (tags->flags & BLK_MQ_F_BLOCKING);
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
