// SPDX-License-Identifier: GPL-2.0
// What user space hears of a device: uevents, from a work item of their own.
//
// The kernel sends all uevents of the system under one mutex, whose holder may allocate memory that
// waits for writes to this very disk. So neither the link lock nor anything that brings disks back
// waits for an event.
#pragma once

#include <cxxrt/event_queue.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/work.hh>
#include <rnbd/wire/units.hh>

namespace rnbd::client {

class Device;

enum class DeviceEvent : u8 {
	Offline,
	Online,
	Resized,
	ReadOnly, // or no longer: the disk takes it over, too
	Slow,	  // the server does not answer its requests
	Answers,  // it does again
};

constexpr u32 kEventKinds = static_cast<u32>(DeviceEvent::Answers) + 1;

class DeviceEvents {
public:
	explicit DeviceEvents(Device &device);

	// Link lock held, the device is published and not Unmapped. Events go out in this order.
	void add(DeviceEvent event);
	// What was added before has gone out. Sleeps.
	void flush() { work_.flush(); }
	// After state Unmapped: none goes out any more. Sleeps.
	void stop() { work_.cancel_sync(); }

private:
	// Only a device that the system falls behind with has more than a few.
	using Pending = cxxrt::EventQueue<DeviceEvent, kEventKinds + 2>;

	void run();
	void send(DeviceEvent event);

	Device &device_;
	cxxrt::Guarded<Pending, cxxrt::SpinLock> pending_;
	cxxrt::Work<DeviceEvents, &DeviceEvents::run> work_{this};
};

} // namespace rnbd::client
