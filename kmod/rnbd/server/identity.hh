// SPDX-License-Identifier: GPL-2.0
// Which device it is that a client has opened, whatever name it used (protocol D.5).
#pragma once

#include <cxxrt/kernel.hh>
#include <rnbd/wire/extension.hh>

namespace rnbd {

// In this order: the identifier that the device's driver knows, the one that it shows in sysfs, or
// else the disk's name on the machine `server_id`. Partitions add their number. May sleep.
Wwid identify_device(block_device *bdev, const char *server_id);

} // namespace rnbd
