// SPDX-License-Identifier: GPL-2.0
// Programs of the administrator's that are run for each event.
#pragma once

#include "events.hh"

namespace rnbdadm {

inline const std::string kHooks = "/etc/rnbd/events.d";

// Runs the hooks of a folder, or the one program that `place` is, one after the other in the order
// of their names, each with the limit. What is wrong with one of them is said by `complain`, and
// the next one follows.
void run_hooks(const Host &host, const std::string &place, const Event &event, double seconds,
	       const std::function<void(const std::string &)> &complain);

} // namespace rnbdadm
