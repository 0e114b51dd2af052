// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/block_device.hh>

#include <cxxrt/err_ptr.hh>
#include <cxxrt/log.hh>

namespace rnbd {

using cxxrt::exchange;

Result<BlockDevice> BlockDevice::open(dev_t number, bool write)
{
	fmode_t mode = write ? FMODE_READ | FMODE_WRITE : FMODE_READ;
	block_device *bdev = TRY(cxxrt::from_err_ptr(blkdev_get_by_dev(number, mode, nullptr)));
	BlockDevice device(bdev, mode);
	// Drivers need not look at the mode.
	if (write && device.read_only())
		return err::eacces;
	if (bdev_is_zoned(bdev)) {
		log_warning_limited(bdev->bd_disk->disk_name,
				    "Not exported: it is a zoned device, and clients write as they "
				    "like, not at the write pointer");
		return err::eopnotsupp;
	}
	return device;
}

BlockDevice::BlockDevice(block_device *bdev, fmode_t mode) : bdev_(bdev), mode_(mode)
{
	const blk_mq_tag_set *tags = bdev_get_queue(bdev)->tag_set;
	may_block_ = tags && (tags->flags & BLK_MQ_F_BLOCKING);
}

BlockDevice::BlockDevice(BlockDevice &&o)
    : bdev_(exchange(o.bdev_, static_cast<block_device *>(nullptr))), mode_(o.mode_),
      may_block_(o.may_block_)
{
}

BlockDevice &BlockDevice::operator=(BlockDevice &&o)
{
	if (this != &o) {
		close();
		bdev_ = exchange(o.bdev_, static_cast<block_device *>(nullptr));
		mode_ = o.mode_;
		may_block_ = o.may_block_;
	}
	return *this;
}

void BlockDevice::close()
{
	if (block_device *bdev = exchange(bdev_, static_cast<block_device *>(nullptr)))
		blkdev_put(bdev, mode_);
}

// The kernel's own record of writes that were lost. A number that was shown is marked, so that the
// next error gets another.
void BlockDevice::note_loss()
{
	errseq_set(&bdev_->bd_inode->i_mapping->wb_err, -EIO);
}

u32 BlockDevice::losses() const
{
	errseq_t seen = 0;
	errseq_check_and_advance(&bdev_->bd_inode->i_mapping->wb_err, &seen);
	return seen;
}

DeviceProperties BlockDevice::properties() const
{
	const request_queue *queue = bdev_get_queue(bdev_);
	const u32 block = logical_block_size();
	DeviceProperties p{};
	p.capacity = capacity();
	p.logical_block_size = block;
	p.physical_block_size = bdev_physical_block_size(bdev_);
	p.max_hw_sectors = queue_max_hw_sectors(queue);
	p.max_segments = queue_max_segments(queue);
	p.max_discard_sectors = usable_range(bdev_max_discard_sectors(bdev_), block);
	if (p.max_discard_sectors) {
		p.discard_granularity = bdev_discard_granularity(bdev_);
		p.discard_alignment = bdev_discard_alignment(bdev_);
	}
	p.max_write_zeroes_sectors = usable_range(bdev_write_zeroes_sectors(bdev_), block);
	p.max_secure_erase_sectors = usable_range(bdev_max_secure_erase_sectors(bdev_), block);
	p.writeback = bdev_write_cache(bdev_);
	p.fua = bdev_fua(bdev_);
	return p;
}

DeviceTopology BlockDevice::topology() const
{
	return {.physical_block_size = bdev_physical_block_size(bdev_),
		.io_min = bdev_io_min(bdev_),
		.io_opt = static_cast<u32>(bdev_io_opt(bdev_)),
		.alignment_offset = bdev_alignment_offset(bdev_),
		.rotational = !bdev_nonrot(bdev_)};
}

} // namespace rnbd
