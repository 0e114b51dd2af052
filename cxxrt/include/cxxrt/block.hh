// SPDX-License-Identifier: GPL-2.0
// What differs between kernels at the block layer, in the shape of the newest one: opens of block
// devices, the operations of a disk and of a set of tags, and members that moved. The limits of a
// disk have a header of their own, <cxxrt/disk_limits.hh>.
//
// A kernel is asked by `requires` on arguments whose type depends on a template parameter: what it
// does not declare is then an answer, and no error.
#pragma once

#include <cxxrt/err_ptr.hh>
#include <cxxrt/file.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/newest.hh>
#include <cxxrt/probes.h>
#include <cxxrt/result.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

namespace detail {

// 6.9: an open is a file. Before, it is the device, and its end has to say the mode again.
template <class Number> auto open_block_device(Number number, BlockMode mode, void *holder)
{
	if constexpr (requires { bdev_file_open_by_dev(number, mode, holder, nullptr); })
		return bdev_file_open_by_dev(number, mode, holder, nullptr);
	else
		return blkdev_get_by_dev(number, mode, holder);
}

template <class Handle> block_device *device_of_open(Handle *handle)
{
	if constexpr (requires { file_bdev(handle); })
		return file_bdev(handle);
	else
		return handle;
}

// At once, as blkdev_put(): the file's usual end is left to a work item if a thread of the kernel
// asks for it, so the disk would be in use for a while after the return.
template <class Handle> void close_block_device(Handle *handle, BlockMode mode)
{
	if constexpr (requires { file_bdev(handle); })
		__fput_sync(handle);
	else
		blkdev_put(handle, mode);
}

inline gendisk *disk_of(gendisk *disk)
{
	return disk;
}
inline gendisk *disk_of(block_device *bdev)
{
	return bdev->bd_disk;
}

// 6.5: open gets the disk, and release no mode.
template <int (*kOpen)(gendisk *, BlockMode), class Opened, class Mode>
int open_disk(Opened *opened, Mode mode)
{
	return kOpen(disk_of(opened), mode);
}

template <void (*kRelease)(gendisk *), class... Mode> void release_disk(gendisk *disk, Mode...)
{
	kRelease(disk);
}

// 6.18: of a disk.
template <class Driver, class Which> int get_geometry(Which *which, hd_geometry *geometry)
{
	return Driver::get_geometry(disk_of(which), geometry);
}

// 7.3: the node is signed.
template <class Driver, class... Numbers>
int set_up_request(blk_mq_tag_set *set, request *rq, Numbers...)
{
	Driver::set_up_request(set, rq);
	return 0;
}

// 6.4: reservations can be read.
template <class Driver, class Keys> int read_keys(block_device *bdev, Keys *keys)
{
	return Driver::read_keys(bdev, keys->generation, keys->num_keys, keys->keys);
}

template <class Driver, class Held> int read_reservation(block_device *bdev, Held *held)
{
	return Driver::read_reservation(bdev, held->key, held->generation, held->type);
}

template <class Driver, class Operations> constexpr void set_reservation_reads(Operations &o)
{
	if constexpr (requires { o.pr_read_keys; }) {
		o.pr_read_keys = read_keys<Driver>;
		o.pr_read_reservation = read_reservation<Driver>;
	}
}

// 6.5: together with a list of their own for flushes, requeues got one that is a queue.
template <class Queue> constexpr bool requeues_in_order(const Queue *queue)
{
	if constexpr (requires { queue->flush_list; })
		return true;
	return false;
}

} // namespace detail

// Whether requests go on in the order in which blk_mq_requeue_request() had them, or, on older
// kernels, the last one first. Of those with RQF_DONTPREP.
constexpr bool requeues_in_order()
{
	return detail::requeues_in_order<request_queue>(nullptr);
}

// A block device that is open until it is closed or destroyed, claimed as long or not at all.
class OpenBlockDevice {
	using Handle = decltype(detail::open_block_device(dev_t{}, BlockMode{}, nullptr));

public:
	constexpr OpenBlockDevice() = default;
	// ENXIO if there is none, or what the driver says. Sleeps for as long as the driver likes.
	// With a `holder` the device is claimed: EBUSY if another holder has it, or its disk, or a
	// partition of it. Opens of the same holder share the claim of one device, but not that of
	// a disk with one of its partitions.
	static Result<OpenBlockDevice> open(dev_t number, BlockMode mode, void *holder = nullptr)
	{
		if (holder)
			mode |= kBlockExclusive;
		Handle handle = TRY(from_err_ptr(detail::open_block_device(number, mode, holder)));
		return OpenBlockDevice(handle, mode);
	}
	OpenBlockDevice(OpenBlockDevice &&o)
	    : handle_(exchange(o.handle_, Handle{})),
	      bdev_(exchange(o.bdev_, static_cast<block_device *>(nullptr))), mode_(o.mode_)
	{
	}
	OpenBlockDevice &operator=(OpenBlockDevice &&o)
	{
		if (this != &o) {
			close();
			handle_ = exchange(o.handle_, Handle{});
			bdev_ = exchange(o.bdev_, static_cast<block_device *>(nullptr));
			mode_ = o.mode_;
		}
		return *this;
	}
	OpenBlockDevice(const OpenBlockDevice &) = delete;
	OpenBlockDevice &operator=(const OpenBlockDevice &) = delete;
	~OpenBlockDevice() { close(); }

	// The device has been released when it returns. Sleeps, as open().
	void close()
	{
		bdev_ = nullptr;
		if (Handle handle = exchange(handle_, Handle{}))
			detail::close_block_device(handle, mode_);
	}
	// Null unless it is open.
	block_device *get() const { return bdev_; }

private:
	OpenBlockDevice(Handle handle, BlockMode mode)
	    : handle_(handle), bdev_(detail::device_of_open(handle)), mode_(mode)
	{
	}

	Handle handle_ = nullptr;
	block_device *bdev_ = nullptr; // what a look into the handle would give, for each I/O
	BlockMode mode_ = 0;
};

// The operations that begin and end an open of a disk; both are called with its open_mutex held.
template <int (*kOpen)(gendisk *, BlockMode), void (*kRelease)(gendisk *)>
constexpr void set_open_operations(block_device_operations &operations)
{
	operations.open = detail::open_disk<kOpen>;
	operations.release = detail::release_disk<kRelease>;
}

// The operation that says how a disk is divided, as programs of old want to know. It is
// int Driver::get_geometry(gendisk *, hd_geometry *).
template <class Driver> constexpr void set_geometry_operation(block_device_operations &operations)
{
	operations.getgeo = detail::get_geometry<Driver>;
}

// Persistent reservations. All may sleep, and return an errno or kPrConflict. They are, of Driver,
//	int enrol(block_device *, u64 old_key, u64 new_key, u32 flags);	pr_register
//	int reserve(block_device *, u64 key, pr_type, u32 flags);
//	int release(block_device *, u64 key, pr_type);
//	int preempt(block_device *, u64 key, u64 victim, pr_type, bool abort);
//	int clear(block_device *, u64 key);
//	int read_keys(block_device *, u32 &generation, u32 &count, u64 *keys);
//	int read_reservation(block_device *, u64 &key, u32 &generation, pr_type &);
template <class Driver> constexpr void set_reservation_operations(pr_ops &operations)
{
	operations.pr_register = Driver::enrol;
	operations.pr_reserve = Driver::reserve;
	operations.pr_release = Driver::release;
	operations.pr_preempt = Driver::preempt;
	operations.pr_clear = Driver::clear;
	detail::set_reservation_reads<Driver>(operations);
}

// The operation that is called once for each request, before the set of tags can be used. May
// sleep. It is void Driver::set_up_request(blk_mq_tag_set *, request *).
template <class Driver> constexpr void set_request_operation(blk_mq_ops &operations)
{
	operations.init_request = detail::set_up_request<Driver>;
}

// Requests are merged, as the newest kernel always does. ENOMEM, EINVAL. May sleep.
inline Status allocate_tags(blk_mq_tag_set &set)
{
#if CXXRT_PROBE_should_merge
	set.flags |= BLK_MQ_F_SHOULD_MERGE;
#endif
	return Status::from_code(blk_mq_alloc_tag_set(&set));
}

// The number of the block device that a path leads to. ENOENT, ENOTBLK, ... May sleep.
inline Result<dev_t> block_device_at(const char *path)
{
	const ProgramPaths scope;
	dev_t number = 0;
	TRY(Status::from_code(lookup_bdev(path, &number)));
	return number;
}

// 0: the whole disk. Any context.
template <class Device> u32 partition_number(const Device *bdev)
{
	if constexpr (requires { bdev->bd_partno; })
		return bdev->bd_partno;
	else
		return bdev_partno(bdev);
}

// As the partition table has it; empty for a whole disk, or if the table has none. Any context,
// while the device is open.
inline TextView partition_uuid(const block_device *bdev)
{
	const partition_meta_info *info = bdev->bd_meta_info;
	if (!info)
		return {};
	return TextView(info->uuid, strnlen(info->uuid, sizeof(info->uuid)));
}

// First sector on the whole disk. Any context.
inline u64 partition_start(const block_device *bdev)
{
	return bdev->bd_start_sect;
}

// Any context.
template <class Device> bool is_rotational(Device *bdev)
{
	if constexpr (requires { bdev_rot(bdev); })
		return bdev_rot(bdev);
	else
		return !bdev_nonrot(bdev);
}

// Whether the block layer adds protection information to the data of its bios, for which it
// allocates memory. Any context.
template <class Queue> bool adds_protection_information(const Queue *queue)
{
	if constexpr (requires { queue->limits.integrity.metadata_size; })
		return queue->limits.integrity.metadata_size;
	else if constexpr (requires { queue->limits.integrity.tuple_size; }) // 6.12
		return queue->limits.integrity.tuple_size;
	else if constexpr (requires { queue->integrity.profile; }) // 6.1
		return queue->integrity.profile;
	else
		return false;
}

// The device's page cache. Any context.
template <class Device> address_space *page_cache_of(const Device *bdev)
{
	if constexpr (requires { bdev->bd_mapping; })
		return bdev->bd_mapping;
	else
		return bdev->bd_inode->i_mapping;
}

// The request's data as a list, which has room for it; the number of entries. Any context.
template <class Request> u32 map_request(Request *rq, scatterlist *list)
{
	if constexpr (requires { blk_rq_map_sg(rq, list); })
		return static_cast<u32>(blk_rq_map_sg(rq, list));
	else
		return static_cast<u32>(blk_rq_map_sg(rq->q, rq, list));
}

// A queue without a disk; blk_mq_destroy_queue() and blk_put_queue() end it. ENOMEM. May sleep.
template <class TagSet> Result<request_queue *> make_idle_queue(TagSet *set)
{
	if constexpr (requires { blk_mq_alloc_queue(set, nullptr, nullptr); })
		return from_err_ptr(blk_mq_alloc_queue(set, nullptr, nullptr));
	else
		return from_err_ptr(blk_mq_init_queue(set));
}

} // namespace cxxrt
