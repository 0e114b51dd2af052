// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/disk.hh>

#include <cxxrt/err_ptr.hh>
#include <cxxrt/sysfs.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {

Device &device_of(gendisk *disk)
{
	return *static_cast<Device *>(disk->private_data);
}

// The disk's open lock is held, see Device::claim_unmap_unless_open().
int open_disk(block_device *bdev, fmode_t mode)
{
	const Device &device = device_of(bdev->bd_disk);
	if ((mode & FMODE_WRITE) && device.read_only())
		return -EROFS;
	if (device.state() == DeviceState::Unmapped)
		return -EIO;
	return 0;
}

// The disk's open lock is held.
void close_disk(gendisk *disk, fmode_t)
{
	if (!disk_openers(disk))
		device_of(disk).unflushed().forget();
}

// A mapping that is read-only at the server can't be made writable here.
int set_disk_read_only(block_device *bdev, bool read_only)
{
	return !read_only && device_of(bdev->bd_disk).read_only() ? -EROFS : 0;
}

int get_geometry(block_device *bdev, hd_geometry *geometry)
{
	constexpr u32 kHeads = 4;
	constexpr u32 kSectorsPerTrack = 16;
	const sector_t cylinders = get_capacity(bdev->bd_disk) / (kHeads * kSectorsPerTrack);
	geometry->heads = kHeads;
	geometry->sectors = kSectorsPerTrack;
	geometry->cylinders = static_cast<u16>(cxxrt::min_of<sector_t>(cylinders, 0xffff));
	return 0;
}

void free_disk(gendisk *disk)
{
	device_of(disk).put();
}

constinit const block_device_operations kDiskOperations = [] {
	block_device_operations o{};
	o.owner = THIS_MODULE;
	o.open = open_disk;
	o.release = close_disk;
	o.set_read_only = set_disk_read_only;
	o.getgeo = get_geometry;
	o.free_disk = free_disk;
	return o;
}();

ssize_t show_wwid(device *dev, device_attribute *, char *page)
{
	Device &device = device_of(dev_to_disk(dev));
	const Wwid wwid = device.session().with_link([&](Link &) { return device.wwid(); });
	cxxrt::SysfsText text(page);
	text.print("%s\n", wwid.c_str());
	return text.length();
}

constinit device_attribute wwid_attribute = [] {
	device_attribute a{};
	a.attr.name = "wwid";
	a.attr.mode = 0444;
	a.show = show_wwid;
	return a;
}();
constinit attribute *attributes[] = {&wwid_attribute.attr, nullptr};
constinit const attribute_group group = [] {
	attribute_group g{};
	g.attrs = attributes;
	return g;
}();
constinit const attribute_group *groups[] = {&group, nullptr};

// Requests are registered for remote access page by page, in 4 KiB units.
constexpr u32 kSegmentBoundary = 4096 - 1;

void set_fixed_limits(request_queue *q, const rtrs_clt_attrs &transport,
		      const DeviceProperties &properties)
{
	blk_queue_logical_block_size(q, properties.logical_block_size);
	blk_queue_max_hw_sectors(q, transport.max_io_size >> kSectorShift);
	blk_queue_max_segments(
	    q, static_cast<u16>(cxxrt::min_of<u32>(transport.max_segments, USHRT_MAX)));
	blk_queue_virt_boundary(q, kSegmentBoundary);
	blk_queue_max_discard_segments(q, 1);
}

// Without a cache, the flag of FUA would only cost the block layer flushes.
void set_write_cache(request_queue *q, const DeviceProperties &properties)
{
	blk_queue_write_cache(q, properties.writeback, properties.writeback && properties.fua);
}

} // namespace

const attribute_group **disk_attributes()
{
	return groups;
}

void update_disk_limits(gendisk *disk, const DeviceProperties &was, const DeviceProperties &now)
{
	request_queue *q = disk->queue;
	if (was.max_discard_sectors != now.max_discard_sectors) {
		const u32 wanted = q->limits.max_discard_sectors;
		const bool by_user = wanted != q->limits.max_hw_discard_sectors;
		blk_queue_max_discard_sectors(q, now.max_discard_sectors);
		if (by_user)
			q->limits.max_discard_sectors =
			    cxxrt::min_of(wanted, now.max_discard_sectors);
	}
	if (was.discard_granularity != now.discard_granularity)
		q->limits.discard_granularity = now.discard_granularity;
	if (was.discard_alignment != now.discard_alignment)
		q->limits.discard_alignment = now.discard_alignment;
	blk_queue_max_secure_erase_sectors(q, now.max_secure_erase_sectors);
	blk_queue_max_write_zeroes_sectors(q, now.max_write_zeroes_sectors);
	if (was.writeback != now.writeback || was.fua != now.fua)
		set_write_cache(q, now);
}

void set_read_ahead(gendisk *disk, u32 max_io_size)
{
	constexpr unsigned long kDefault = (128u << 10) / PAGE_SIZE; // the kernel's, of any disk
	disk->bdi->ra_pages = cxxrt::max_of(2 * (max_io_size / PAGE_SIZE), kDefault);
}

void update_topology(gendisk *disk, const DeviceTopology &was, const DeviceTopology &now)
{
	request_queue *q = disk->queue;
	if (was.physical_block_size != now.physical_block_size || was.io_min != now.io_min) {
		blk_queue_physical_block_size(q, now.physical_block_size);
		blk_queue_io_min(q, now.io_min);
	}
	// Not by blk_queue_io_opt(), which changes the read-ahead: a user's, or set_read_ahead()'s.
	if (was.io_opt != now.io_opt)
		q->limits.io_opt = now.io_opt;
	if (was.alignment_offset != now.alignment_offset) {
		const bool misaligned = now.alignment_offset == kMisaligned;
		blk_queue_alignment_offset(
		    q, misaligned ? 0 : static_cast<unsigned int>(now.alignment_offset));
		q->limits.misaligned = misaligned;
	}
	if (was.rotational != now.rotational) {
		if (now.rotational)
			blk_queue_flag_clear(QUEUE_FLAG_NONROT, q);
		else
			blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	}
}

Result<gendisk *> create_disk(Device &device, int major, const DeviceProperties &properties,
			      const DeviceTopology &topology)
{
	Session &session = device.session();
	gendisk *disk = TRY(cxxrt::from_err_ptr(blk_mq_alloc_disk(session.tags().get(), &device)));
	disk->major = major;
	disk->first_minor = static_cast<int>(device.index() << kPartitionBits);
	disk->minors = 1 << kPartitionBits;
	disk->fops = &kDiskOperations;
	disk->private_data = &device;
	snprintf(disk->disk_name, sizeof(disk->disk_name), "rnbd%u", device.index());
	set_fixed_limits(disk->queue, session.attributes(), properties);
	update_disk_limits(disk, {}, properties);
	// Of a disk that nothing is known of, as the block layer makes it.
	constexpr DeviceTopology kNew{.physical_block_size = 0,
				      .io_min = 0,
				      .io_opt = ~0u,
				      .alignment_offset = 0,
				      .rotational = true};
	update_topology(disk, kNew, topology);
	set_write_cache(disk->queue, properties);
	set_capacity(disk, properties.capacity.value);
	set_disk_ro(disk, device.read_only());
	return disk;
}

} // namespace rnbd::client
