// SPDX-License-Identifier: GPL-2.0
// Numbers of the extension "fence" (protocol J.1). Pure.
//
// An epoch is what a client counts up whenever it gives up a request whose first copy may still be
// on its way: to the server, or there in a slow disk. A path belongs to the epoch in which its
// attempt to connect began. A serial names one attempt of one path at the server.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// Later in the circular order of 32-bit counters.
constexpr bool later_epoch(u32 a, u32 b)
{
	return static_cast<s32>(a - b) > 0;
}

// Serials fit into the payload of an immediate. Zero is none.
constexpr u32 next_serial(u32 last)
{
	const u32 next = (last + 1) & ((1u << kImmPayloadBits) - 1);
	return next ? next : 1;
}

} // namespace rtrs
