// SPDX-License-Identifier: GPL-2.0
// The ids that listen for connection requests (protocol A.2): one for IPv4 and IPv6, one for
// InfiniBand addresses. They exist while an RDMA device does, so that the module can be loaded
// before there is one.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>

namespace rtrs::server {

class Server;

class Listener {
public:
	explicit Listener(Server &server) : server_(server) {}
	Listener(const Listener &) = delete;
	Listener &operator=(const Listener &) = delete;
	~Listener() { stop(); }

	// EADDRINUSE and others from the connection manager. Without a device there is nothing to
	// fail yet: later errors are logged. May sleep.
	cxxrt::Status start(unsigned short port);
	// Afterwards no connection request is being handled and none comes. May sleep.
	void stop();

private:
	struct Ids {
		unsigned int devices = 0;
		rdma_cm_id *ip = nullptr;
		rdma_cm_id *ib = nullptr;
		int error = 0; // of the latest try to listen
	};

	static int device_added(ib_device *device);
	static void device_removed(ib_device *device, void *listener);
	static int event(rdma_cm_id *id, rdma_cm_event *event);

	cxxrt::Status listen(Ids &ids);
	void unlisten(Ids &ids);
	cxxrt::Result<rdma_cm_id *> listen_on(sockaddr *address, rdma_ucm_port_space space);

	Server &server_;
	unsigned short port_ = 0;
	ib_client client_ = {};
	bool registered_ = false;
	cxxrt::Guarded<Ids, cxxrt::Mutex> ids_{cxxrt::lock_class<"rtrs_listener">()};
};

} // namespace rtrs::server
