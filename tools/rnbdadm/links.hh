// SPDX-License-Identifier: GPL-2.0
// Links below /dev/rnbd/by-session, as 60-rnbd.rules has udev make them: of some characters it
// makes '_'.
#pragma once

#include "model.hh"

namespace rnbdadm {

std::string link_of(const std::string &session, const std::string &device_path);
// The disk of that session that has the same link, though it is another device.
std::optional<Device> device_with_link(const Host &host, const std::string &session,
				       const std::string &device_path);

} // namespace rnbdadm
