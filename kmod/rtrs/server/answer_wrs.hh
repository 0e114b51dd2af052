// SPDX-License-Identifier: GPL-2.0
// The work requests of one answer, between RequestSlot::fill_answer() and the post. Their memory
// must not move in between.
#pragma once

#include <rtrs/core/chain.hh>

namespace rtrs::server {

class RequestSlot;

// New key, data, invalidation, answer.
constexpr u32 kMaxAnswerWrs = 4;

// Each work request is formatted, which is the same for all answers of a connection, before an
// answer makes it its own: once for many (format()), or right then.
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

	void format(ib_cqe *sent, int access)
	{
		registration.format(sent, access);
		format_data(sent);
		format_invalidation(sent);
		format_final();
	}
	void format_data(ib_cqe *sent)
	{
		data = {};
		data.wr.opcode = IB_WR_RDMA_WRITE;
		data.wr.wr_cqe = sent;
		data.wr.sg_list = &data_sge;
		data.wr.num_sge = 1;
	}
	void format_invalidation(ib_cqe *sent)
	{
		invalidation = {};
		invalidation.opcode = IB_WR_SEND_WITH_INV;
		invalidation.wr_cqe = sent;
	}
	void format_final()
	{
		final = {};
		final.wr.sg_list = &payload;
	}

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
	ib_send_wr invalidation; // before the request
	AnswerWrs wrs;
};

} // namespace rtrs::server
