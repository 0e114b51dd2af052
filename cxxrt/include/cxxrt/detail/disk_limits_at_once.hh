// SPDX-License-Identifier: GPL-2.0
// Limits that are set at once (6.11 and later). Part of <cxxrt/disk_limits.hh>.
#pragma once

#include <cxxrt/disk_limits.hh>
#include <cxxrt/err_ptr.hh>

namespace cxxrt {

namespace detail {

// What no user sets. A user's lower bound of discards has a member of its own.
inline void fill_limits(queue_limits &to, const DiskLimits &now)
{
	to.max_hw_discard_sectors = now.max_discard_sectors;
	to.discard_granularity = now.discard_granularity;
	to.discard_alignment = now.discard_alignment;
	to.max_secure_erase_sectors = now.max_secure_erase_sectors;
	to.max_write_zeroes_sectors = now.max_write_zeroes_sectors;
	to.physical_block_size = now.physical_block_size;
	to.io_min = now.io_min;
	to.io_opt = now.io_opt;
	to.alignment_offset = now.misaligned ? 0 : now.alignment_offset;
	to.flags &= ~BLK_FLAG_MISALIGNED;
	if (now.misaligned)
		to.flags |= BLK_FLAG_MISALIGNED;
}

// Without a cache, the flag of FUA would only cost the block layer flushes. A user who has said
// that the cache needs no flushes meant the one that was there.
inline void fill_cache(queue_limits &to, const DiskLimits &now)
{
	to.features &= ~(BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA);
	to.flags &= ~BLK_FLAG_WRITE_CACHE_DISABLED;
	if (now.write_cache)
		to.features |= BLK_FEAT_WRITE_CACHE;
	if (now.write_cache && now.fua)
		to.features |= BLK_FEAT_FUA;
}

inline void fill_rotational(queue_limits &to, const DiskLimits &now)
{
	to.features &= ~BLK_FEAT_ROTATIONAL;
	if (now.rotational)
		to.features |= BLK_FEAT_ROTATIONAL;
}

} // namespace detail

inline Result<gendisk *> make_disk(blk_mq_tag_set *set, const FixedDiskLimits &fixed,
				   const DiskLimits &limits, void *queue_data,
				   const LockClass &lock)
{
	queue_limits all{};
	all.logical_block_size = fixed.logical_block_size;
	all.max_hw_sectors = fixed.max_hw_sectors;
	all.max_segments = fixed.max_segments;
	all.virt_boundary_mask = fixed.virt_boundary;
	all.max_discard_segments = 1;
	detail::fill_limits(all, limits);
	detail::fill_cache(all, limits);
	detail::fill_rotational(all, limits);
	return from_err_ptr(__blk_mq_alloc_disk(set, &all, queue_data, lock.key));
}

inline Status change_disk_limits(gendisk *disk, const DiskLimits &was, const DiskLimits &now)
{
	request_queue *q = disk->queue;
	// As queue_limits_start_update(), which would wait.
	if (!mutex_trylock(&q->limits_lock))
		return err::ebusy;
	queue_limits all = q->limits;
	detail::fill_limits(all, now);
	if (was.write_cache != now.write_cache || was.fua != now.fua)
		detail::fill_cache(all, now);
	if (was.rotational != now.rotational)
		detail::fill_rotational(all, now);
	const unsigned long read_ahead = disk->bdi->ra_pages;
	// Unlocks. No freeze, which would wait for requests: each limit is right before and after,
	// and a request is made by one of the two.
	Status s = Status::from_code(queue_limits_commit_update(q, &all));
	disk->bdi->ra_pages = read_ahead;
	return s;
}

} // namespace cxxrt
