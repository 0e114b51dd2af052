// SPDX-License-Identifier: GPL-2.0
// Limits that are set one by one (before 6.9). Part of <cxxrt/disk_limits.hh>.
#pragma once

#include <cxxrt/disk_limits.hh>
#include <cxxrt/err_ptr.hh>

namespace cxxrt {

namespace detail {

// Without a cache, the flag of FUA would only cost the block layer flushes.
inline void set_cache(request_queue *q, const DiskLimits &now)
{
	blk_queue_write_cache(q, now.write_cache, now.write_cache && now.fua);
}

// A user may have chosen a lower bound.
inline void set_max_discard(request_queue *q, u32 max_sectors)
{
	const u32 wanted = q->limits.max_discard_sectors;
	const bool by_user = wanted != q->limits.max_hw_discard_sectors;
	blk_queue_max_discard_sectors(q, max_sectors);
	if (by_user)
		q->limits.max_discard_sectors = min_of(wanted, max_sectors);
}

inline void set_rotational(request_queue *q, bool rotational)
{
	if (rotational)
		blk_queue_flag_clear(QUEUE_FLAG_NONROT, q);
	else
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
}

inline void change_topology(request_queue *q, const DiskLimits &was, const DiskLimits &now)
{
	if (was.physical_block_size != now.physical_block_size || was.io_min != now.io_min) {
		blk_queue_physical_block_size(q, now.physical_block_size);
		blk_queue_io_min(q, now.io_min);
	}
	// Not by blk_queue_io_opt(), which changes the read-ahead.
	if (was.io_opt != now.io_opt)
		q->limits.io_opt = now.io_opt;
	if (was.alignment_offset != now.alignment_offset || was.misaligned != now.misaligned) {
		blk_queue_alignment_offset(q, now.misaligned ? 0 : now.alignment_offset);
		q->limits.misaligned = now.misaligned;
	}
	if (was.rotational != now.rotational)
		set_rotational(q, now.rotational);
}

} // namespace detail

inline Status change_disk_limits(gendisk *disk, const DiskLimits &was, const DiskLimits &now)
{
	request_queue *q = disk->queue;
	if (was.max_discard_sectors != now.max_discard_sectors)
		detail::set_max_discard(q, now.max_discard_sectors);
	if (was.discard_granularity != now.discard_granularity)
		q->limits.discard_granularity = now.discard_granularity;
	if (was.discard_alignment != now.discard_alignment)
		q->limits.discard_alignment = now.discard_alignment;
	blk_queue_max_secure_erase_sectors(q, now.max_secure_erase_sectors);
	blk_queue_max_write_zeroes_sectors(q, now.max_write_zeroes_sectors);
	if (was.write_cache != now.write_cache || was.fua != now.fua)
		detail::set_cache(q, now);
	detail::change_topology(q, was, now);
	return {};
}

inline Result<gendisk *> make_disk(blk_mq_tag_set *set, const FixedDiskLimits &fixed,
				   const DiskLimits &limits, void *queue_data,
				   const LockClass &lock)
{
	gendisk *disk = TRY(from_err_ptr(__blk_mq_alloc_disk(set, queue_data, lock.key)));
	request_queue *q = disk->queue;
	blk_queue_logical_block_size(q, fixed.logical_block_size);
	blk_queue_max_hw_sectors(q, fixed.max_hw_sectors);
	blk_queue_max_segments(q, fixed.max_segments);
	blk_queue_virt_boundary(q, fixed.virt_boundary);
	blk_queue_max_discard_segments(q, 1);
	// As the block layer makes it, or different from what any disk has.
	constexpr DiskLimits kNew{.physical_block_size = 0,
				  .io_min = 0,
				  .io_opt = ~0u,
				  .alignment_offset = 0,
				  .misaligned = false,
				  .rotational = true};
	// Never refused here.
	(void)change_disk_limits(disk, kNew, limits);
	detail::set_cache(q, limits);
	return disk;
}

} // namespace cxxrt
