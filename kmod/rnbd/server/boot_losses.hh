// SPDX-License-Identifier: GPL-2.0
// The losses of all disks since the machine started, also those that an earlier load of the module
// knew of: a disk that could not be flushed may be unplugged, and come back after the next one.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/result.hh>
#include <rnbd/pure/lost_flushes.hh>

namespace rnbd::server {

class BootLosses {
public:
	BootLosses() = default;
	// Leaves behind what there is for the next load.
	~BootLosses();
	// Before all else. ENOMEM. May sleep.
	Status create();

	// All of them may sleep.
	void add(DiskKey disk)
	{
		losses_.with([&](LostFlushes *l) { l->add(disk); });
	}
	u32 of(DiskKey disk)
	{
		return losses_.with([&](const LostFlushes *l) { return l->of(disk); });
	}
	bool any()
	{
		return losses_.with([](const LostFlushes *l) { return l->any(); });
	}

private:
	// In memory that is the kernel's.
	cxxrt::Guarded<LostFlushes *, cxxrt::Mutex> losses_{
	    cxxrt::lock_class<"rnbd-server losses">(), nullptr};
};

} // namespace rnbd::server
