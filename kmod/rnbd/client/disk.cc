// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/disk.hh>

#include <cxxrt/block.hh>
#include <cxxrt/sysfs.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/reserve.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {

Device &device_of(gendisk *disk)
{
	return *static_cast<Device *>(disk->private_data);
}

// The disk's open lock is held, see Device::claim_unmap_unless_open().
int open_device(gendisk *disk, cxxrt::BlockMode mode)
{
	Device &device = device_of(disk);
	if ((mode & cxxrt::kBlockWrite) && device.read_only())
		return -EROFS;
	if (device.state() == DeviceState::Unmapped)
		return -EIO;
	if (!disk_openers(disk))
		device.first_opens();
	return 0;
}

// The disk's open lock is held.
void close_disk(gendisk *disk)
{
	if (!disk_openers(disk))
		device_of(disk).unflushed().forget();
}

// A mapping that is read-only at the server can't be made writable here.
int set_disk_read_only(block_device *bdev, bool read_only)
{
	return !read_only && device_of(bdev->bd_disk).read_only() ? -EROFS : 0;
}

struct Geometry {
	static int get_geometry(gendisk *disk, hd_geometry *geometry)
	{
		constexpr u32 kHeads = 4;
		constexpr u32 kSectorsPerTrack = 16;
		const sector_t cylinders = get_capacity(disk) / (kHeads * kSectorsPerTrack);
		geometry->heads = kHeads;
		geometry->sectors = kSectorsPerTrack;
		geometry->cylinders = static_cast<u16>(cxxrt::min_of<sector_t>(cylinders, 0xffff));
		return 0;
	}
};

void free_disk(gendisk *disk)
{
	device_of(disk).put();
}

constinit const block_device_operations kDiskOperations = [] {
	block_device_operations o{};
	o.owner = THIS_MODULE;
	cxxrt::set_open_operations<open_device, close_disk>(o);
	o.set_read_only = set_disk_read_only;
	cxxrt::set_geometry_operation<Geometry>(o);
	o.free_disk = free_disk;
	o.pr_ops = &kReservationOperations;
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

cxxrt::FixedDiskLimits fixed_limits(const rtrs_clt_attrs &transport,
				    const DeviceProperties &properties)
{
	return {.logical_block_size = properties.logical_block_size,
		.max_hw_sectors = transport.max_io_size >> kSectorShift,
		.max_segments =
		    static_cast<u16>(cxxrt::min_of<u32>(transport.max_segments, USHRT_MAX)),
		.virt_boundary = kSegmentBoundary};
}

} // namespace

const attribute_group **disk_attributes()
{
	return groups;
}

cxxrt::DiskLimits disk_limits(const DeviceProperties &properties, const DeviceTopology &topology)
{
	const bool misaligned = topology.alignment_offset == kMisaligned;
	return {.max_discard_sectors = properties.max_discard_sectors,
		.discard_granularity = properties.discard_granularity,
		.discard_alignment = properties.discard_alignment,
		.max_secure_erase_sectors = properties.max_secure_erase_sectors,
		.max_write_zeroes_sectors = properties.max_write_zeroes_sectors,
		.write_cache = properties.writeback,
		.fua = properties.fua,
		.physical_block_size = topology.physical_block_size,
		.io_min = topology.io_min,
		.io_opt = topology.io_opt,
		.alignment_offset = misaligned ? 0 : static_cast<u32>(topology.alignment_offset),
		.misaligned = misaligned,
		.rotational = topology.rotational};
}

void set_read_ahead(gendisk *disk, u32 max_io_size)
{
	constexpr unsigned long kDefault = (128u << 10) / PAGE_SIZE; // the kernel's, of any disk
	disk->bdi->ra_pages = cxxrt::max_of(2 * (max_io_size / PAGE_SIZE), kDefault);
}

Result<gendisk *> create_disk(Device &device, const DeviceProperties &properties,
			      const cxxrt::DiskLimits &limits)
{
	Session &session = device.session();
	gendisk *disk = TRY(cxxrt::make_disk(session.tags().get(),
					     fixed_limits(session.attributes(), properties), limits,
					     &device, cxxrt::lock_class<"rnbd_client disk">()));
	disk->fops = &kDiskOperations;
	disk->private_data = &device;
	snprintf(disk->disk_name, sizeof(disk->disk_name), "rnbd%u", device.index());
	set_capacity(disk, properties.capacity.value);
	set_disk_ro(disk, device.read_only());
	return disk;
}

} // namespace rnbd::client
