// SPDX-License-Identifier: GPL-2.0
// What a server exports to this machine, as the kernel asks it.
#pragma once

#include "mapping.hh"

namespace rnbdadm {

inline const std::string kDiscover = "/sys/class/rnbd-client/ctl/discover";
inline const std::string kDiscovered = "/sys/class/rnbd-client/ctl/discovered";

struct Discovered {
	std::string name;
	std::string access;    // the most that may be asked for
	Number size;	       // bytes; nothing if the server's device is missing
	bool here = false;     // the session that asks has it open
	std::string elsewhere; // another one has: read or written; or empty
};

struct Discovery {
	std::vector<Discovered> exports;
	bool paths_too = false; // the server opens block devices by their paths, too
};

extern const Kind kDiscoveredKind;

// Asks with the session, the paths, port and proof of `request`; nothing with --dry-run, which says
// what would be written. Failure.
std::optional<Discovery> discover(Call &call, const MapRequest &request);
// What the kernel tells, if it is the answer to that question, and one as a whole.
std::optional<Discovery> parse_discovered(const std::string &text, const std::string &question);

} // namespace rnbdadm
