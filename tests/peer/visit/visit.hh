// SPDX-License-Identifier: GPL-2.0
// What a user of the kernel's client does with one lie, and what must come of it.
#pragma once

#include "../lie/lie.hh"
#include "disk.hh"

namespace peer {

struct Told {
	Lie lie;
	uint16_t port = 0;
};

// Whether the client needs one of its timeouts of 30 s to notice.
bool is_slow(const Lie &lie);

// How all of them are visited.
struct Tour {
	Addresses addresses;
	Told honest;	   // of a server that does not lie
	std::string after; // a command that has to work behind each lie, or nothing
};

// Empty if all was as the lie's outcome says.
std::string visit(const Tour &tour, const Told &told);

} // namespace peer
