// SPDX-License-Identifier: GPL-2.0
// Measures again and again how late a work item runs, and shows it in debugfs.
#pragma once

#include <cxxrt/debugfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/work.hh>

#include "example.h"
#include "history.hh"

namespace example {

class Clockwork {
public:
	// Runs when it returns. EINVAL: a parameter is out of range, the log says which. ENOMEM.
	// May sleep.
	static cxxrt::Result<cxxrt::Box<Clockwork>> start(const example_params &params);
	// Ends it. May sleep.
	~Clockwork();

	// Part of start(): a constructor can't fail, so it gets what was made before.
	Clockwork(const example_params &params, cxxrt::Workqueue queue,
		  cxxrt::Array<Measurement> room);

private:
	void measure();
	void wind();
	void show(cxxrt::DebugText &text);

	const unsigned int interval_ms_;
	cxxrt::Guarded<History, cxxrt::Mutex> history_;
	// Of the work item alone, which never runs twice at a time.
	ktime_t due_ = 0;
	cxxrt::DelayedWork<Clockwork, &Clockwork::measure> work_{this};
	// Members end in reverse: first the files, whose methods use all above, then the queue. The
	// work item winds itself up again, so the destructor ends it before any of them.
	cxxrt::Workqueue queue_;
	cxxrt::DebugDir files_;
};

} // namespace example
