// SPDX-License-Identifier: GPL-2.0
// The one object of rtrs-client: what lives as long as the module is loaded.
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/debugfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/work.hh>
#include <rtrs/client/session.hh>

namespace rtrs::client {

struct ClientModule {
	// ENOMEM, EEXIST. May sleep.
	static Result<cxxrt::Box<ClientModule>> create();

	// Runs the owners of all paths, and their heartbeats. Unbound, because an owner sleeps up
	// to the connect timeout; with a rescuer, because the disks above may be what memory is
	// written to.
	cxxrt::Workqueue workqueue;
	cxxrt::DeviceClass device_class;
	cxxrt::DebugDir debug_dir;
	// Every session that is open or about to be, for names must be unique.
	using Sessions = cxxrt::List<Session, &Session::node>;
	cxxrt::Guarded<Sessions, cxxrt::Mutex> sessions{cxxrt::lock_class<"rtrs_sessions">()};
};

// Set by init before any export can be called, cleared by exit when no user is left.
extern ClientModule *module_;

} // namespace rtrs::client
