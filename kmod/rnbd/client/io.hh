// SPDX-License-Identifier: GPL-2.0
// The path of a block request to the transport and back: what the block layer calls.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <cxxrt/types.hh>

namespace rnbd::client {

class Device;
using cxxrt::u32;
using cxxrt::u64;

// What the block layer keeps for us behind each request, so that I/O allocates nothing. Constructed
// with the tag set, and used by one request after the other.
struct alignas(scatterlist) IoRequest {
	int status = 0;
	u32 open_number = 0; // of the device when it was sent
	// When the block layer gave it to us first, by ktime_get_ns().
	u64 began_ns = 0;
	u64 ended_ns = 0; // when the transport gave it back
	// Since when it has met no path; earlier than began_ns: it has not yet.
	u64 missed_ns = 0;
	cxxrt::ListNode waiting_node; // of WaitingRequests

	static IoRequest *of(request *rq) { return static_cast<IoRequest *>(blk_mq_rq_to_pdu(rq)); }
	request *rq() { return blk_mq_rq_from_pdu(this); }
	static constexpr u32 size_for(u32 segments)
	{
		return sizeof(IoRequest) + segments * sizeof(scatterlist);
	}
	// As many entries as the session allows segments, initialised once.
	scatterlist *list() { return reinterpret_cast<scatterlist *>(this + 1); }
};

// Members of blk_mq_ops. The queue's data is its Device.
blk_status_t queue_rq(blk_mq_hw_ctx *hctx, const blk_mq_queue_data *data);
void commit_rqs(blk_mq_hw_ctx *hctx);
void complete_rq(request *rq);
blk_eh_timer_return report_slow_rq(request *rq);
int poll_queue(blk_mq_hw_ctx *hctx, io_comp_batch *batch);

// When the oldest request of the device that is with us began, by ktime_get_ns(); the highest
// number if there is none. May sleep.
u64 oldest_request_began(Device &device);
// For how many milliseconds the oldest request of the device has been with us; 0 if there is none.
// May sleep.
u64 oldest_request_age(Device &device);

} // namespace rnbd::client
