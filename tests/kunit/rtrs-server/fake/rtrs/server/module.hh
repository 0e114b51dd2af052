// SPDX-License-Identifier: GPL-2.0
// What the slots see of the module: its settings, its work queue, its counters.
#pragma once

#include <cxxrt/work.hh>
#include <rtrs/server/refusals.hh>

namespace rtrs::server {

struct Settings {
	bool always_invalidate = false;
};

struct Module {
	Settings settings;
	RefusalCounters refusals;
	cxxrt::Workqueue io;
};

// Set by the case that runs.
extern Module *module_;

inline const Settings &settings()
{
	return module_->settings;
}

} // namespace rtrs::server
