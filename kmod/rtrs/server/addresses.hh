// SPDX-License-Identifier: GPL-2.0
// Comparing the hosts at the ends of a connection.
#pragma once

#include <cxxrt/kernel.hh>
#include <rtrs/core/keys.hh>
#include <rtrs/pure/failure_limit.hh>

namespace rtrs::server {

// Same family and same address; ports differ between the connections of a path. Addresses of
// different families are never equal, so that a session may mix them (protocol B.2).
inline bool same_host(const sockaddr_storage &a, const sockaddr_storage &b)
{
	if (a.ss_family != b.ss_family)
		return false;
	switch (a.ss_family) {
	case AF_INET:
		return reinterpret_cast<const sockaddr_in &>(a).sin_addr.s_addr ==
		       reinterpret_cast<const sockaddr_in &>(b).sin_addr.s_addr;
	case AF_INET6: {
		const auto &left = reinterpret_cast<const sockaddr_in6 &>(a);
		const auto &right = reinterpret_cast<const sockaddr_in6 &>(b);
		return left.sin6_scope_id == right.sin6_scope_id &&
		       ipv6_addr_equal(&left.sin6_addr, &right.sin6_addr);
	}
	case AF_IB:
		return !__builtin_memcmp(&reinterpret_cast<const sockaddr_ib &>(a).sib_addr,
					 &reinterpret_cast<const sockaddr_ib &>(b).sib_addr,
					 sizeof(reinterpret_cast<const sockaddr_ib &>(a).sib_addr));
	}
	return false;
}

// By which limits tell hosts apart.
using Source = FailureLimit<>::Address;

// Where the packets of a connection go to. The address in the private data of its request is what
// the client writes, and so is the GID; but answers go to that. Over RoCE the connection manager
// adds the link address of the neighbour that the packet's own source leads to, as this machine
// knows it: so a host of the same network that names another one is none of that one's.
inline Source source_of(const rdma_cm_id &id)
{
	Source address = {};
	if (const sa_path_rec *path = id.route.path_rec) {
		__builtin_memcpy(address.bytes, path->dgid.raw, sizeof(address.bytes));
		if (path->rec_type == SA_PATH_REC_TYPE_ROCE_V1 ||
		    path->rec_type == SA_PATH_REC_TYPE_ROCE_V2)
			__builtin_memcpy(address.neighbour, path->roce.dmac,
					 sizeof(address.neighbour));
		return address;
	}
	// Without InfiniBand's connection manager it is TCP's.
	__builtin_memcpy(address.bytes, endpoint_of(id.route.addr.dst_addr).address,
			 sizeof(address.bytes));
	return address;
}

// The two ends of a path, as seen from the client.
struct PathEnds {
	sockaddr_storage client;
	sockaddr_storage server;

	// On the side that accepts, the connection manager calls the peer the destination.
	static PathEnds of(const rdma_cm_id &id)
	{
		return {id.route.addr.dst_addr, id.route.addr.src_addr};
	}
	bool same_hosts(const PathEnds &o) const
	{
		return same_host(client, o.client) && same_host(server, o.server);
	}
};

} // namespace rtrs::server
