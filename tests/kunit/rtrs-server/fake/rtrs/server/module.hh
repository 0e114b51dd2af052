// SPDX-License-Identifier: GPL-2.0
// What the units see of the module: its settings, limits, work queues, and counters.
#pragma once

#include <cxxrt/work.hh>
#include <rtrs/pure/memory_budget.hh>
#include <rtrs/pure/quota.hh>
#include <rtrs/server/refusals.hh>

namespace rtrs::server {

struct Settings {
	bool always_invalidate = false;
};

// As the case sets them.
struct Limits {
	PathLimits of_paths{};
	MemoryLimits of_memory{};

	PathLimits paths() const { return of_paths; }
	MemoryLimits memory(bool) const { return of_memory; }
};

struct Module {
	Settings settings;
	Limits limits;
	RefusalCounters refusals;
	cxxrt::Workqueue io;
	cxxrt::Workqueue strangers;
	cxxrt::Workqueue known_hosts;
};

// Set by the case that runs.
extern Module *module_;

inline const Settings &settings()
{
	return module_->settings;
}

} // namespace rtrs::server
