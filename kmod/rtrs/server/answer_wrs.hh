// SPDX-License-Identifier: GPL-2.0
// The work requests of one answer, between RequestSlot::fill_answer() and the post. Their memory
// must not move in between.
#pragma once

#include <rtrs/core/chain.hh>

namespace rtrs::server {

class RequestSlot;

// New key, data, invalidation, answer.
constexpr u32 kMaxAnswerWrs = 4;

struct AnswerWrs {
	bool registers;
	bool has_data;
	bool has_invalidation;
	bool invalidates; // the client's region, by itself or with the final one
	Registration registration;
	ib_rdma_wr data;
	ib_send_wr invalidation;
	ib_rdma_wr final;
	ib_sge data_sge;
	ib_sge payload;
	// Of the request, for its tracepoint: when that comes the slot is somebody else's.
	struct {
		Slot slot;
		bool write;
		int error;
	} event;

	void append_registration(Chain &chain)
	{
		if (registers)
			chain.append(registration);
	}
	void append_rest(Chain &chain)
	{
		if (has_data)
			chain.append(data.wr);
		if (has_invalidation)
			chain.append(invalidation);
		chain.append(final.wr);
		chain.cost.invalidations += invalidates;
	}
};

// Place of a chain, one of answers and one of invalidations before the requests begin: whose it is,
// by RequestSlot::Step, and work requests for either, in memory because that is much for a stack.
struct ChainEntry {
	RequestSlot *slots[2];
	AnswerWrs wrs;
};

} // namespace rtrs::server
