// SPDX-License-Identifier: GPL-2.0
// The disk of a device: its operations and limits (protocol E.1 "Disk").
#pragma once

#include <cxxrt/disk_limits.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <rnbd/wire/device_limits.hh>
#include <rnbd/wire/open_response.hh>

namespace rnbd::client {

class Device;

// The device numbers are the kernel's extended ones, as those of NVMe disks are: LVM and other
// programs with a list of the kinds of disks take these for disks, and a major of this module's own
// for none.
constexpr u32 kMaxDiskIndex = (1u << MINORBITS) - 1;

// A disk that is ready for add_disk(). It has the device as its data, and drops a reference of it
// when it is freed, if it was added. What the kernel refuses. May sleep.
Result<gendisk *> create_disk(Device &device, const DeviceProperties &properties,
			      const cxxrt::DiskLimits &limits);

// Attributes of the disk itself, for device_add_disk(): they are there when udev hears of it.
const attribute_group **disk_attributes();

// What may change while the disk is in use: write cache, discard, secure erase, write zeroes, and
// how the device likes to be used.
cxxrt::DiskLimits disk_limits(const DeviceProperties &properties, const DeviceTopology &topology);

// Read-ahead follows what the transport carries at once, whatever the disk likes. After add_disk(),
// which sets it, too.
void set_read_ahead(gendisk *disk, u32 max_io_size);

} // namespace rnbd::client
