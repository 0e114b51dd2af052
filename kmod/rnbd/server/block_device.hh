// SPDX-License-Identifier: GPL-2.0
// One open of a block device.
#pragma once

#include <cxxrt/block.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <rnbd/wire/device_limits.hh>
#include <rnbd/wire/open_response.hh>
#include <rnbd/wire/units.hh>

namespace rnbd::server {

class BlockDevice {
public:
	constexpr BlockDevice() = default;
	// For reading, with `write` also for writing. With a `holder` it is claimed until it is
	// closed, with which all opens of that holder agree: EBUSY if somebody else has claimed it.
	// EACCES for writing to a read-only device; EOPNOTSUPP for a zoned one, whose rules the
	// protocol can't tell, and for blocks larger than a page; or what the driver says. Sleeps
	// for as long as the driver likes.
	static Result<BlockDevice> open(dev_t number, bool write, void *holder = nullptr);

	// Sleeps, as open().
	void close() { opened_.close(); }
	// Makes durable what was written and has completed. Sleeps.
	Status flush() { return Status::from_code(blkdev_issue_flush(get())); }

	block_device *get() const { return opened_.get(); }
	// Both as they are now: devices can be resized and set read-only while they are open. Any
	// context.
	Sectors capacity() const { return {bdev_nr_sectors(get())}; }
	bool read_only() const { return bdev_read_only(get()); }
	u32 logical_block_size() const { return bdev_logical_block_size(get()); }

	// As it is now. Any context.
	bool has_cache() const { return bdev_write_cache(get()); }
	bool has_fua() const { return bdev_fua(get()); }
	// Whether a bio with REQ_NOWAIT never lets its submitter sleep, whatever becomes of the
	// disk: true only where that follows from the block layer alone. Any context.
	bool never_sleeps() const { return direct_; }
	// The kernel's name, which the next disk may get.
	const char *disk_name() const { return get()->bd_disk->disk_name; }

	// Writes to it could not be made durable: losses() will say another number, and programs of
	// this machine that have it open learn of it. Kept by the kernel with the device, until
	// that is unplugged. Any context.
	void note_loss();
	// Counts them, with what programs of this machine met. Any context.
	u32 losses() const;

	// All that an OPEN answer tells, but the id. Any context.
	DeviceProperties properties() const;
	// All that the answer to DEVICE_LIMITS tells. Any context.
	DeviceTopology topology() const;

private:
	explicit BlockDevice(cxxrt::OpenBlockDevice opened);

	cxxrt::OpenBlockDevice opened_;
	bool direct_ = false; // see never_sleeps()
};

} // namespace rnbd::server
