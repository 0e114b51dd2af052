// SPDX-License-Identifier: GPL-2.0
// The heartbeat of one path on its service connection (protocol B.3).
//
// start() when the path is connected; stop() before its queue pairs are drained: after stop() no
// heartbeat is posted and the lost callback is not called. Everything else comes from completion
// handlers, in any context. The messages are zero-length RDMA writes with an immediate.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <cxxrt/work.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/heartbeat.hh>
#include <rtrs/wire/immediate.hh>

namespace rtrs {

class HeartbeatTimer {
public:
	// `lost` is told, in process context, that the peer is silent or nothing can be posted any
	// more; `cqe` completes the heartbeat's own work requests.
	using Lost = void (*)(void *owner);
	HeartbeatTimer(void *owner, Lost lost, ib_cqe *cqe) : owner_(owner), lost_(lost), cqe_(cqe)
	{
	}

	void start(Connection *service, const cxxrt::Workqueue &wq)
	{
		service_ = service;
		wq_ = &wq;
		pure_.reset();
		tick_.queue_after(wq, msecs_to_jiffies(kHeartbeatIntervalMs));
	}
	// May sleep. No-op if it does not run. Not from the lost callback.
	void stop() { tick_.cancel_sync(); }

	void on_traffic() { pure_.on_traffic(); }
	// Answers a heartbeat of the peer. The caller fails the path on an error.
	Status on_message(Connection &service)
	{
		pure_.on_traffic();
		return post(service, kHeartbeatAckImm);
	}
	void on_ack() { pure_.on_ack(ktime_get_ns()); }
	u64 latency_ns() const { return pure_.latency(); }

private:
	void tick()
	{
		switch (pure_.on_tick()) {
		case HeartbeatAction::Lost:
			lost_(owner_);
			return;
		case HeartbeatAction::Send:
			pure_.on_sent(ktime_get_ns());
			// A full queue is no loss: the next ticks find out whether the peer lives.
			if (const Status s = post(*service_, kHeartbeatImm);
			    !s.ok() && !(s.error() == err::eagain)) {
				lost_(owner_);
				return;
			}
			break;
		case HeartbeatAction::Wait:
			break;
		}
		tick_.queue_after(*wq_, msecs_to_jiffies(kHeartbeatIntervalMs));
	}

	Status post(Connection &service, Immediate imm)
	{
		ib_rdma_wr wr{};
		wr.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		wr.wr.wr_cqe = cqe_;
		wr.wr.ex.imm_data = imm.to_network();
		return service.post_send(&wr.wr, &wr.wr, {.work_requests = 1});
	}

	void *owner_;
	Lost lost_;
	ib_cqe *cqe_;
	Connection *service_ = nullptr;
	const cxxrt::Workqueue *wq_ = nullptr;
	Heartbeat pure_;
	cxxrt::DelayedWork<HeartbeatTimer, &HeartbeatTimer::tick> tick_{this};
};

} // namespace rtrs
