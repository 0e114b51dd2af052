// SPDX-License-Identifier: GPL-2.0
// The protocol's numbers, but for a heart that beats 250 times as fast.
#pragma once

#define kHeartbeatIntervalMs kRealHeartbeatIntervalMs
#include_next <rtrs/wire/constants.hh>
#undef kHeartbeatIntervalMs

namespace rtrs {
constexpr u32 kHeartbeatIntervalMs = 20;
static_assert(kRealHeartbeatIntervalMs == 250 * kHeartbeatIntervalMs);
} // namespace rtrs
