// SPDX-License-Identifier: GPL-2.0
// The one object of rtrs-client: what lives as long as the module is loaded.
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/debugfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/work.hh>
#include <rtrs/client/ports.hh>
#include <rtrs/client/session.hh>

namespace rtrs::client {

struct ClientModule {
	// ENOMEM, EEXIST. May sleep.
	static Result<cxxrt::Box<ClientModule>> create();

	// Queues such that no item waits for one of its own queue, nor behind those that wait
	// long (Documentation/locking.md). Unbound, because items sleep; with a rescuer each of
	// those that requests wait for: the disks above may be what memory is written to. The
	// limits can be lowered below /sys/devices/virtual/workqueue, which tests do.
	cxxrt::Workqueue workqueue; // owners of paths: the ends of paths, and pauses
	cxxrt::Workqueue attempts;  // attempts to connect, which wait for peers
	cxxrt::Workqueue ticks;	    // heartbeats and deadlines, which wait for nobody
	cxxrt::Workqueue events;    // what user space is told; without a rescuer
	cxxrt::DeviceClass device_class;
	cxxrt::DebugDir debug_dir;
	// Every session that is open or about to be, for names must be unique.
	using Sessions = cxxrt::List<Session, &Session::node>;
	cxxrt::Guarded<Sessions, cxxrt::Mutex> sessions{cxxrt::lock_class<"rtrs_sessions">()};
	PortWatch ports; // first to end: its handlers look at all of the above
};

// Of sessions that say nothing of their own (protocol J.3). The administrator's, at any time.
AuthPolicy default_auth_policy();

// Set by init before any export can be called, cleared by exit when no user is left.
extern ClientModule *module_;

} // namespace rtrs::client
