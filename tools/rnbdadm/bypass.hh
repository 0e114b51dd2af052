// SPDX-License-Identifier: GPL-2.0
// The way past the rules of exports: rnbd_server without exports_only opens what lies below
// dev_search_path by its path, for whoever reaches this machine.
#pragma once

#include "host.hh"

namespace rnbdadm {

// Where clients can open devices by path; nothing if they cannot. What stands behind a name of the
// client is not known here, so a folder of each client counts as the one above them.
std::optional<std::string> open_folder(const Host &host);
// Whether clients can open that device of this machine by its path, whatever the rules of its
// export say.
bool opens_by_path(const Host &host, const std::string &device_path);
// Whether modprobe.d has exports_only=N: the administrator's word that this is meant.
bool is_meant_open(const Host &host);

// What to do about it.
inline const char *const kCloseBypass =
    "systemctl restart rnbd-server, which serves exports alone; by hand: modprobe -r rnbd_server, "
    "then modprobe "
    "rnbd_server exports_only=Y; if it is meant: options rnbd_server exports_only=N in "
    "/etc/modprobe.d/rnbd.conf";

} // namespace rnbdadm
