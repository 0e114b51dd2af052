// SPDX-License-Identifier: GPL-2.0
// The work requests of one answer, between RequestSlot::make_answer() and the post. Their memory
// must not move in between.
#pragma once

#include <rtrs/core/chain.hh>
#include <rtrs/wire/rkey.hh>

namespace rtrs::server {

class RequestSlot;

// New key, data, invalidation, answer.
constexpr u32 kMaxAnswerWrs = 4;

// A copy of what the tracepoint of an answer says: after the post the slot may serve the next
// request.
struct AnswerEvent {
	Slot slot;
	bool write;
	int error;
};

// What an answer needs, beside the work request that ends it.
struct AnswerParts {
	bool data;
	bool invalidation;
	bool invalidates; // the client's region, by itself or with the final one
};

// The work requests themselves. The fields that all answers of a connection share are written by
// format(), once for each place of a chain: it keeps them through its posts, and end_post() puts
// back what the end of a chain has changed. For an answer that is posted alone
// RequestSlot::make_answer() formats the parts that it uses.
struct AnswerWrs {
	Registration registration;
	ib_rdma_wr data;
	ib_send_wr invalidation;
	ib_rdma_wr final;
	ib_sge data_sge;
	ib_sge payload;
	AnswerParts parts;
	AnswerEvent event; // while that is traced

	void format(ib_cqe *sent, u32 lkey, int access)
	{
		registration.format(sent, access);
		format_data(sent, lkey);
		format_invalidation(sent);
		format_final(sent, lkey);
	}
	void format_data(ib_cqe *sent, u32 lkey)
	{
		data = {};
		data.wr.opcode = IB_WR_RDMA_WRITE;
		data.wr.wr_cqe = sent;
		data.wr.sg_list = &data_sge;
		data.wr.num_sge = 1;
		data_sge.lkey = lkey;
	}
	void format_invalidation(ib_cqe *sent)
	{
		invalidation = {};
		invalidation.opcode = IB_WR_SEND_WITH_INV;
		invalidation.wr_cqe = sent;
	}
	void format_final(ib_cqe *sent, u32 lkey)
	{
		final = {};
		final.wr.sg_list = &payload;
		payload.length = sizeof(RkeyResponse);
		payload.lkey = lkey;
		end_post(sent);
	}
	// The last work request of a chain gets another handler, and a completion.
	void end_post(ib_cqe *sent)
	{
		final.wr.wr_cqe = sent;
		final.wr.send_flags = 0;
	}
	// Behind the registration.
	[[gnu::always_inline]] void append_rest(Links &links, const AnswerParts &p)
	{
		if (p.data)
			links.append(data.wr);
		if (p.invalidation)
			links.append(invalidation);
		links.append(final.wr);
	}
};

// Place of a chain, one of answers and one of invalidations before the requests begin: whose it is,
// by RequestSlot::Step, and work requests for either, in memory because that is much for a stack.
struct ChainEntry {
	RequestSlot *slots[2];
	ib_send_wr invalidation; // before the request
	AnswerWrs wrs;

	void format(ib_cqe *sent, u32 lkey, int access)
	{
		MemoryRegion::fill_local_inv(invalidation, nullptr, Rkey{0});
		wrs.format(sent, lkey, access);
	}
};

} // namespace rtrs::server
