// SPDX-License-Identifier: GPL-2.0
// A disk gets the limits that it is given, whichever way the kernel takes them. The disks here are
// never added, so no I/O comes.
#include <cxxrt/block.hh>
#include <cxxrt/disk_limits.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

blk_status_t refuse(blk_mq_hw_ctx *, const blk_mq_queue_data *)
{
	return BLK_STS_IOERR;
}

// How often a request was set up, for the one set of tags that there is at a time.
constinit int set_up_ = 0;

struct Driver {
	static void set_up_request(blk_mq_tag_set *set, request *rq)
	{
		set_up_ += set->queue_depth == 1 && rq != nullptr;
	}
	static int get_geometry(gendisk *disk, hd_geometry *geometry)
	{
		geometry->heads = disk->queue ? 4 : 0;
		return 0;
	}
};

constinit const blk_mq_ops kOps = [] {
	blk_mq_ops ops{};
	ops.queue_rq = refuse;
	set_request_operation<Driver>(ops);
	return ops;
}();

constexpr FixedDiskLimits kFixed{
    .logical_block_size = 512, .max_hw_sectors = 256, .max_segments = 17, .virt_boundary = 4095};
constexpr DiskLimits kLimits{.max_discard_sectors = 1024,
			     .discard_granularity = 8192,
			     .discard_alignment = 4096,
			     .max_secure_erase_sectors = 64,
			     .max_write_zeroes_sectors = 128,
			     .write_cache = true,
			     .fua = true,
			     .physical_block_size = 4096,
			     .io_min = 8192,
			     .io_opt = 65536,
			     .alignment_offset = 512,
			     .misaligned = false,
			     .rotational = true};

class TestDisk {
public:
	TestDisk()
	{
		set_.ops = &kOps;
		set_.nr_hw_queues = 1;
		set_.queue_depth = 1;
		set_.numa_node = NUMA_NO_NODE;
		set_up_ = 0;
		if (!allocate_tags(set_).ok())
			return;
		has_set_ = true;
		Result<gendisk *> disk = make_disk(&set_, kFixed, kLimits, nullptr,
						   cxxrt::lock_class<"selftest disk">());
		if (disk.ok())
			disk_ = disk.take();
	}
	TestDisk(const TestDisk &) = delete;
	TestDisk &operator=(const TestDisk &) = delete;
	~TestDisk()
	{
		if (disk_)
			put_disk(disk_);
		if (has_set_)
			blk_mq_free_tag_set(&set_);
	}

	// Null without memory.
	gendisk *get() const { return disk_; }
	request_queue *queue() const { return disk_->queue; }
	block_device *device() const { return disk_->part0; }

private:
	blk_mq_tag_set set_{};
	bool has_set_ = false;
	gendisk *disk_ = nullptr;
};

void expect_limits(Case &t, const TestDisk &disk, const DiskLimits &limits)
{
	block_device *bdev = disk.device();
	EXPECT(bdev_max_discard_sectors(bdev) == limits.max_discard_sectors);
	EXPECT(bdev_discard_granularity(bdev) == limits.discard_granularity);
	EXPECT(bdev_max_secure_erase_sectors(bdev) == limits.max_secure_erase_sectors);
	EXPECT(bdev_write_zeroes_sectors(bdev) == limits.max_write_zeroes_sectors);
	EXPECT(bdev_write_cache(bdev) == limits.write_cache);
	EXPECT(bdev_fua(bdev) == (limits.write_cache && limits.fua));
	EXPECT(bdev_physical_block_size(bdev) == limits.physical_block_size);
	EXPECT(static_cast<u32>(bdev_io_min(bdev)) == limits.io_min);
	EXPECT(static_cast<u32>(bdev_io_opt(bdev)) == limits.io_opt);
	EXPECT(bdev_alignment_offset(bdev) ==
	       (limits.misaligned ? -1 : static_cast<int>(limits.alignment_offset)));
	EXPECT(is_rotational(bdev) == limits.rotational);
}

// As the block layer calls it.
template <class Which>
int geometry_of(int (*get)(Which *, hd_geometry *), gendisk *disk, hd_geometry *geometry)
{
	if constexpr (requires { get(disk, geometry); })
		return get(disk, geometry);
	else
		return get(disk->part0, geometry);
}

void operations(Case &t)
{
	TestDisk disk;
	if (!disk.get())
		return t.skip("no memory");
	EXPECT(set_up_ >= 1);
	block_device_operations operations{};
	set_geometry_operation<Driver>(operations);
	hd_geometry geometry{};
	EXPECT(!geometry_of(operations.getgeo, disk.get(), &geometry));
	EXPECT(geometry.heads == 4);
}

void made_with_limits(Case &t)
{
	TestDisk disk;
	if (!disk.get())
		return t.skip("no memory");
	EXPECT(queue_logical_block_size(disk.queue()) == kFixed.logical_block_size);
	EXPECT(queue_max_hw_sectors(disk.queue()) == kFixed.max_hw_sectors);
	EXPECT(queue_max_segments(disk.queue()) == kFixed.max_segments);
	EXPECT(queue_virt_boundary(disk.queue()) == kFixed.virt_boundary);
	expect_limits(t, disk, kLimits);
	EXPECT(partition_number(disk.device()) == 0);
	EXPECT(page_cache_of(disk.device()) != nullptr);
}

void changed_limits(Case &t)
{
	TestDisk disk;
	if (!disk.get())
		return t.skip("no memory");
	constexpr unsigned long kReadAhead = 77;
	disk.get()->bdi->ra_pages = kReadAhead;
	DiskLimits now = kLimits;
	now.max_discard_sectors = 512;
	now.discard_granularity = 16384;
	now.max_secure_erase_sectors = 0;
	now.max_write_zeroes_sectors = 0;
	now.fua = false;
	now.io_min = 4096;
	now.io_opt = 1u << 20;
	now.alignment_offset = 0;
	now.misaligned = true;
	now.rotational = false;
	EXPECT(change_disk_limits(disk.get(), kLimits, now).ok());
	expect_limits(t, disk, now);
	EXPECT(disk.get()->bdi->ra_pages == kReadAhead);
	// And the way back.
	EXPECT(change_disk_limits(disk.get(), now, kLimits).ok());
	expect_limits(t, disk, kLimits);
	DiskLimits none = kLimits;
	none.write_cache = false;
	EXPECT(change_disk_limits(disk.get(), kLimits, none).ok());
	expect_limits(t, disk, none);
}

// Where there is no such lock, nothing is ever refused.
template <class Queue> bool set_locked(Queue *q, bool locked)
{
	if constexpr (requires { q->limits_lock; }) {
		if (locked)
			mutex_lock(&q->limits_lock);
		else
			mutex_unlock(&q->limits_lock);
		return true;
	} else {
		return false;
	}
}

void refused_while_locked(Case &t)
{
	TestDisk disk;
	if (!disk.get())
		return t.skip("no memory");
	DiskLimits now = kLimits;
	now.rotational = false;
	if (set_locked(disk.queue(), true)) {
		EXPECT(change_disk_limits(disk.get(), kLimits, now).error() == err::ebusy);
		expect_limits(t, disk, kLimits);
		set_locked(disk.queue(), false);
	}
	EXPECT(change_disk_limits(disk.get(), kLimits, now).ok());
	expect_limits(t, disk, now);
}

constexpr Test kDiskTests[] = {
    {"operations of a disk and its tags are called", operations},
    {"a disk is made with its limits", made_with_limits},
    {"limits change, and the read-ahead stays", changed_limits},
    {"nobody waits for who changes limits", refused_while_locked},
};

} // namespace

constinit const selftest::Suite selftest::disk_suite("disk", kDiskTests);
