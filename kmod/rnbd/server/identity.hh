// SPDX-License-Identifier: GPL-2.0
// Which device it is that a client has opened, whatever name it used (protocol D.5).
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/text.hh>
#include <rnbd/server/server.h>
#include <rnbd/wire/extension.hh>

namespace rnbd::server {

// In this order: the identifier that the device's driver knows, the one that it shows in sysfs, or
// its serial number on the machine `server_id`. Partitions add their number. Empty if there is
// none of these: the name of a disk is no identity, it changes with the next start of the machine.
// May sleep, as long as the device does.
Wwid identify_device(block_device *bdev, const char *server_id);

// What sysfs alone says of it, without an open: an identifier, no serial number, for which some
// drivers ask the disk. Of most disks that is the same as above. May sleep.
Wwid identify_unopened(dev_t device);

// What tells this machine from others: what the administrator says, or a digest of what hardware
// and installation are known by; nothing if there is none. May sleep.
void write_server_id(cxxrt::TextWriter &out, const rnbd_server_settings &settings);

} // namespace rnbd::server
