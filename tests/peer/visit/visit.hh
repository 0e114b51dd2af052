// SPDX-License-Identifier: GPL-2.0
// What a user of the kernel's client does with one lie, and what must come of it.
#pragma once

#include "../lie/lie.hh"
#include "disk.hh"

namespace peer {

struct Told {
	Lie lie;
	uint16_t port;
};

// Whether the client needs one of its timeouts of 30 s to notice.
bool is_slow(const Lie &lie);

// Empty if all was as the lie's outcome says. `honest` is the port of a server that does not lie.
std::string visit(const Addresses &addresses, const Told &told, uint16_t honest);

} // namespace peer
