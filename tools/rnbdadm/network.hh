// SPDX-License-Identifier: GPL-2.0
// What the kernel tells over netlink alone: ways to addresses, neighbours, and who holds what of an
// RDMA device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rnbdadm {

// How this machine sends to an address, by its rules and tables.
struct Route {
	int error = 0; // a positive errno: it does not
	std::string netdev;
	std::string gateway;   // "": the address is on the link
	std::uint64_t mtu = 0; // of the way, where it is known and not the interface's
};

// A queue pair of a device, whoever has it.
struct RdmaQueuePair {
	std::string hca;
	std::uint32_t number = 0;
	bool for_connects = false; // GSI: what connects are asked and answered by
	std::string state;	   // as `rdma resource` has it: rts, sqe, err ...
};

// A queue pair of a kernel module and the connection it belongs to, by literal addresses.
struct RdmaConnection {
	std::string hca;
	std::string module;
	std::string source, destination;
	std::string state; // of the queue pair
};

// How many objects of a kind (qp, cq, mr ...) exist on a device.
using RdmaCounts = std::map<std::string, std::uint64_t>;

} // namespace rnbdadm
