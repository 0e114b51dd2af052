// SPDX-License-Identifier: GPL-2.0
// The limits of a disk: the fixed ones, and those that may change while it is in use.
//
// 6.1 has a function or a member for each. Later kernels set all at once, under a lock of the
// queue, which whoever writes into queue/ of the disk holds while he waits for the end of all
// requests: a disk whose requests wait for its driver must not wait for that lock, see
// change_disk_limits().
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/probes.h>
#include <cxxrt/result.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

struct FixedDiskLimits {
	u32 logical_block_size; // bytes
	u32 max_hw_sectors;
	u16 max_segments;
	unsigned long virt_boundary; // a mask
};

struct DiskLimits {
	u32 max_discard_sectors; // 0: none
	u32 discard_granularity; // bytes
	u32 discard_alignment;	 // bytes
	u32 max_secure_erase_sectors;
	u32 max_write_zeroes_sectors;
	bool write_cache;	 // volatile
	bool fua;		 // counts with a cache only
	u32 physical_block_size; // bytes
	u32 io_min;		 // bytes
	u32 io_opt;		 // bytes
	u32 alignment_offset;	 // bytes
	bool misaligned;	 // no offset would do
	bool rotational;

	bool operator==(const DiskLimits &) const = default;
};

// A disk with a queue of that set, and with these limits; put_disk() ends it if it was not added.
// What the kernel refuses. May sleep.
Result<gendisk *> make_disk(blk_mq_tag_set *set, const FixedDiskLimits &fixed,
			    const DiskLimits &limits, void *queue_data, const LockClass &lock);

// What differs between the two is new; what does not, stays as a user may have set it in queue/.
// The read-ahead stays. EBUSY: somebody else is about to change limits, and may wait for requests
// of the disk; nothing is changed, try again later. EINVAL for what the kernel does not take. Does
// not wait, neither for I/O nor for others. Process context.
Status change_disk_limits(gendisk *disk, const DiskLimits &was, const DiskLimits &now);

} // namespace cxxrt

#if CXXRT_PROBE_limits_at_once
#include <cxxrt/detail/disk_limits_at_once.hh>
#else
#include <cxxrt/detail/disk_limits_one_by_one.hh>
#endif
