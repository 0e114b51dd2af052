// SPDX-License-Identifier: GPL-2.0
// The work requests of one request, between Path::fill() and the post.
#pragma once

#include <rtrs/core/chain.hh>

namespace rtrs::client {

struct Request;

struct RequestWrs {
	bool registers;
	Registration registration; // if `registers`
	ib_rdma_wr message;
};

// A request of a chain of several; in memory because it is much for a stack.
struct ChainEntry {
	Request *request;
	RequestWrs wrs;
};

} // namespace rtrs::client
