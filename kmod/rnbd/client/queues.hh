// SPDX-License-Identifier: GPL-2.0
// The tags of a session, which are the transport's slots (protocol E.1, design "One slot, one
// number").
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <rtrs/rtrs.h>

namespace rnbd::client {

using cxxrt::Status;

// One tag set for all devices of a session. Its tags are unique over hardware queues and devices,
// so a request that the block layer dispatches owns slot `first + tag` on both machines, and no
// second allocation can fail or has to be waited for.
//
// The set is shared from its first device to its last. The block layer stops and awaits the queue
// that is there when a second one joins, and the one that is left when the last but one goes; if
// that one's requests wait for a path, so would whoever maps or unmaps another device. So a queue
// that never has a request is the first member and the last one.
class TagSet {
public:
	constexpr TagSet() = default;
	// All queues that used it have been released.
	~TagSet();
	TagSet(const TagSet &) = delete;
	TagSet &operator=(const TagSet &) = delete;

	// EINVAL if the transport left no slot for I/O, ENOMEM. May sleep.
	Status create(const rtrs_clt_attrs &attrs, u32 queues, u32 poll_queues);

	blk_mq_tag_set *get() { return &set_; }
	u32 default_queues() const { return default_queues_; }
	u32 poll_queues() const { return poll_queues_; }

	// For the block layer.
	static void set_up_request(blk_mq_tag_set *set, request *rq);

	// Any context.
	u32 slot_of(const request *rq) const { return first_slot_ + static_cast<u32>(rq->tag); }
	// 0 for a request that is completed by interrupt, else the number that rtrs expects.
	u32 poll_queue_of(const blk_mq_hw_ctx *hctx) const
	{
		return hctx->type == HCTX_TYPE_POLL ? poll_index_of(hctx) + 1 : 0;
	}
	// Of a hardware queue of the poll type.
	u32 poll_index_of(const blk_mq_hw_ctx *hctx) const
	{
		return hctx->queue_num - default_queues_;
	}

private:
	static void map_queues(blk_mq_tag_set *set);
	static const blk_mq_ops kOps;

	blk_mq_tag_set set_{};
	// Known to nobody: no disk, no node in sysfs. So no operation below is ever called with it,
	// which is why its data need be no Device.
	request_queue *idle_ = nullptr;
	u32 default_queues_ = 0;
	u32 poll_queues_ = 0;
	u32 first_slot_ = 0;
	u32 max_segments_ = 0;
	bool created_ = false;
};

} // namespace rnbd::client
