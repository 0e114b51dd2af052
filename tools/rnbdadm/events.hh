// SPDX-License-Identifier: GPL-2.0
// Events of the kernel about what concerns RNBD.
#pragma once

#include "fields.hh"

#include <map>

namespace rnbdadm {

// One event, or nothing if it concerns others. `properties` are those of the event's message.
std::optional<Json> event_row(const std::map<std::string, std::string> &properties);

// Calls `take` for each event until it returns false or `seconds` are over (0: never).
void watch_events(double seconds, const std::function<bool(const Json &)> &take);

} // namespace rnbdadm
