// SPDX-License-Identifier: GPL-2.0
// What a client of this project offers and a server of this project confirms, in SESS_INFO
// (protocol D.5). Pure.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

namespace feature {
constexpr u32 device_states = 1u << 0;
constexpr u32 identify = 1u << 1;
// DEVICE_STATES tells of the write cache, and its question how far the client has followed.
constexpr u32 device_cache = 1u << 2;
constexpr u32 device_limits = 1u << 3;
constexpr u32 open_by_wwid = 1u << 4;
constexpr u32 discover = 1u << 5;
// AccessMode::Shared, in OPEN and in what DISCOVER tells.
constexpr u32 shared_access = 1u << 6;
// Persistent reservations that clients hold against each other.
constexpr u32 reservations = 1u << 7;
// OPEN and CLOSE by a number of the OPEN, and OPENs that are answered before they end.
constexpr u32 open_numbers = 1u << 8;
constexpr u32 all = device_states | identify | device_cache | device_limits | open_by_wwid |
		    discover | shared_access | reservations | open_numbers;
} // namespace feature

} // namespace rnbd
