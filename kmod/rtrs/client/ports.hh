// SPDX-License-Identifier: GPL-2.0
// What the RDMA devices of this machine tell of their ports.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/result.hh>
#include <rtrs/pure/client_path_state.hh>

namespace rtrs::client {

// Listens to every device that there is and will be, and tells the sessions. Its handlers record
// and wake: no path is ended or begun in them. Destroyed before what they look at; that waits for
// handlers that run.
class PortWatch {
public:
	PortWatch() = default;
	PortWatch(const PortWatch &) = delete;
	PortWatch &operator=(const PortWatch &) = delete;
	~PortWatch();

	// When `module_` is set: there may be events at once. May sleep.
	cxxrt::Status start();

private:
	struct Device;

	static int added(ib_device *device);
	static void removed(ib_device *device, void *data);
	static void on_event(ib_event_handler *handler, ib_event *event);

	ib_client client_ = {};
	bool registered_ = false;
};

} // namespace rtrs::client
