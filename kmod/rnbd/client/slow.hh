// SPDX-License-Identifier: GPL-2.0
// A disk of the server that does not answer, while the path to it is in order. That ends no request
// and no path, for the disk may go on in an hour; it is told: by a line in the log, a uevent, and
// the attribute `slow`.
#pragma once

#include <cxxrt/work.hh>
#include <rnbd/wire/units.hh>

namespace rnbd::client {

class Device;

class SlowDisk {
public:
	explicit SlowDisk(Device &device) : device_(device) {}

	// A request has waited as long as queue/io_timeout says. From the block layer's timer.
	void note();
	// All requests have ended, and the state is Unmapped. Sleeps.
	void stop() { look_.cancel_sync(); }
	bool told() const { return READ_ONCE(told_); }

private:
	void look();

	Device &device_;
	bool told_ = false; // written under the link lock
	cxxrt::DelayedWork<SlowDisk, &SlowDisk::look> look_{this};
};

} // namespace rnbd::client
