// SPDX-License-Identifier: GPL-2.0
// When a path that ends says so to its peer, where a cable may have been pulled.
//
// Soft-RoCE since 6.12 takes a packet that the network layer drops for an error of the queue pair
// that sent it. The one of the connection manager (GSI) then stays in state ERR, and nobody
// connects through that device any more, until it is made anew. The network layer drops everything
// from the moment on at which a cable is out until the kernel has forgotten the neighbours behind
// it: tens of milliseconds. Afterwards it looks for the neighbour first, and what is to be sent
// waits for that. But it is at that very moment that connections break, by the same error, and are
// disconnected.
//
// So a path without a carrier does not say DREQ before a moment has passed. Nobody misses it: the
// peer can't hear it, and the queue pairs are in the error state and drained without it.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/core/device.hh>

namespace rtrs {

class DelayedDreq {
public:
	// Of a path that ends now, whose connections have their routes where it has a device; `id`:
	// of one of them, or null. Any context that may take an RCU read lock.
	static DelayedDreq of(const PathDevice &device, const rdma_cm_id *id)
	{
		return DelayedDreq(!device || !id || !device.gsi_fails_on_drop() ||
				   has_carrier(*id));
	}

	// Whether the connections are to be disconnected before they are drained.
	bool at_once() const { return at_once_; }
	// Before the ids are destroyed, which says what has not been said. Sleeps, for a second at
	// the most, for which who takes the path off or connects it anew waits, too.
	void wait() const
	{
		constexpr u32 kMomentMs = 1000;
		if (!at_once_)
			msleep(kMomentMs); // raw: nothing ends it early
	}

private:
	explicit DelayedDreq(bool at_once) : at_once_(at_once) {}

	static bool has_carrier(const rdma_cm_id &id)
	{
		const rdma_dev_addr &address = id.route.addr.dev_addr;
		const cxxrt::RcuReader reading;
		const net_device *below = dev_get_by_index_rcu(address.net, address.bound_dev_if);
		return !below || netif_carrier_ok(below);
	}

	bool at_once_;
};

} // namespace rtrs
