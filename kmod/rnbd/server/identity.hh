// SPDX-License-Identifier: GPL-2.0
// Which device it is that a client has opened, whatever name it used (protocol D.5).
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/text.hh>
#include <rnbd/pure/disk_identity.hh>
#include <rnbd/server/server.h>
#include <rnbd/wire/extension.hh>

namespace rnbd::server {

// The identity of what is open, by the table of rnbd/pure/disk_identity.hh: of a whole disk that of
// its kind, of a partition that of its disk with the partition's own uuid. Empty if there is none:
// the name of a disk is no identity, it changes with the next start of the machine. May sleep, as
// long as the device does.
Wwid identify_device(block_device *bdev, const char *server_id);

// What sysfs, which is read without an open, says of a device.
struct Seen {
	bool is_map; // of device mapper
	// It looks like the one of that identity. Not so a disk with a serial number only, for
	// which some drivers ask the disk.
	bool looks_right;
};
// May sleep.
Seen look_from_outside(dev_t device, const Wwid &wanted);

// What tells this machine from others: what the administrator says, or a digest of what hardware
// and installation are known by; nothing if there is none. May sleep.
void write_server_id(cxxrt::TextWriter &out, const rnbd_server_settings &settings);

} // namespace rnbd::server
