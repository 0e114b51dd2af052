// SPDX-License-Identifier: GPL-2.0
// The work requests of one request, between Path::fill() and the post.
#pragma once

#include <rtrs/core/chain.hh>

namespace rtrs::client {

struct Request;

// Entries of the gather list of a request whose data has a region: region and message.
constexpr u32 kRegionSges = 2;

struct RequestWrs {
	bool registers;
	Registration registration; // if `registers`
	ib_rdma_wr message;

	void append_to(Chain &chain)
	{
		if (registers)
			chain.append(registration);
		chain.append(message.wr);
	}
};

// An entry of a batch of requests; in memory because it is much for a stack.
struct HeldWrs {
	Request *request;
	RequestWrs wrs;
	ib_sge sges[kRegionSges];
};

} // namespace rtrs::client
