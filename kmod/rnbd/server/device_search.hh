// SPDX-License-Identifier: GPL-2.0
// From the name that a client gives to a block device of this machine (protocol E.2, G.2).
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>
#include <rnbd/wire/wwid.hh>

namespace rnbd::server {

class DeviceLooks;

// The device number of `name` beneath the search path of `session`. EINVAL for a name with "..",
// EXDEV if one of its folders lies outside the search path, ENOTBLK, ENOENT, ... May sleep.
Result<dev_t> find_device(const char *search_path, TextView session, const DeviceName &name);

// The same for a name that is an identity. ENOENT if there is no such device beneath the search
// path, or more than one, EINVAL for a name that is none. Sleeps for seconds where disks hang.
Result<dev_t> find_device_by_wwid(const char *search_path, TextView session, const DeviceName &name,
				  DeviceLooks &looks);

} // namespace rnbd::server
