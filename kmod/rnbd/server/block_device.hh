// SPDX-License-Identifier: GPL-2.0
// One open of a block device.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <rnbd/wire/device_limits.hh>
#include <rnbd/wire/open_response.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

class BlockDevice {
public:
	constexpr BlockDevice() = default;
	// For reading, with `write` also for writing; without a claim, as other sessions may have
	// it open too. EACCES for writing to a read-only device, or what the driver says. Sleeps
	// for as long as the driver likes.
	static Result<BlockDevice> open(dev_t number, bool write);

	BlockDevice(BlockDevice &&o);
	BlockDevice &operator=(BlockDevice &&o);
	BlockDevice(const BlockDevice &) = delete;
	BlockDevice &operator=(const BlockDevice &) = delete;
	~BlockDevice() { close(); }

	// Sleeps, as open().
	void close();
	// Makes durable what was written and has completed. Sleeps.
	Status flush() { return Status::from_code(blkdev_issue_flush(bdev_)); }

	block_device *get() const { return bdev_; }
	// Both as they are now: devices can be resized and set read-only while they are open. Any
	// context.
	Sectors capacity() const { return {bdev_nr_sectors(bdev_)}; }
	bool read_only() const { return bdev_read_only(bdev_); }
	u32 logical_block_size() const { return bdev_logical_block_size(bdev_); }

	// All that an OPEN answer tells, but the id. Any context.
	DeviceProperties properties() const;
	// All that the answer to DEVICE_LIMITS tells. Any context.
	DeviceTopology topology() const;

private:
	BlockDevice(block_device *bdev, fmode_t mode) : bdev_(bdev), mode_(mode) {}

	block_device *bdev_ = nullptr;
	fmode_t mode_ = 0;
};

} // namespace rnbd
