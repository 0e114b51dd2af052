// SPDX-License-Identifier: GPL-2.0
// What sysfs tells of a block device that nobody has to open for it. If sysfs is not mounted at its
// place, that is nothing.
#pragma once

#include <cxxrt/file.hh>
#include <cxxrt/kernel.hh>
#include <rnbd/pure/machine_id.hh>
#include <rnbd/wire/units.hh>

namespace rnbd::server {

struct SysfsFolder {
	// What is longer is not taken.
	enum : usize { kLongest = 256 };

	dev_t device;
	const char *below = ""; // from that device's folder to that of the attributes

	// What was read, without blanks at its ends; some are binary, with a head of `skip` bytes.
	// Process context, may sleep.
	TextView read(const char *name, char (&text)[kLongest], usize skip = 0) const
	{
		char path[64];
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s%s", MAJOR(device),
			 MINOR(device), below, name);
		const usize size = cxxrt::read_file(path, text, sizeof(text));
		return size == sizeof(text) ? TextView()
					    : trim_blanks(TextView(text, size).skip(skip));
	}
};

} // namespace rnbd::server
