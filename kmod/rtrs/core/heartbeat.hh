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

constexpr HeartbeatLimits kHeartbeatDefaults{};

class HeartbeatTimer {
public:
	// `lost` is told, in process context, that the peer is silent or nothing can be posted any
	// more; `cqe` completes the heartbeat's own work requests.
	using Lost = void (*)(void *owner);
	// `limits` may change at any time; each tick reads them anew.
	HeartbeatTimer(void *owner, Lost lost, ib_cqe *cqe,
		       const HeartbeatLimits &limits = kHeartbeatDefaults)
	    : owner_(owner), lost_(lost), cqe_(cqe), limits_(limits)
	{
	}

	void start(Connection *service, const cxxrt::Workqueue &wq)
	{
		service_ = service;
		pure_.reset();
		smp_store_release(&wq_, &wq);
		tick_.queue_after(wq, interval());
	}
	// The interval has changed: the next tick comes that long from now. No-op if it does not
	// run. Any context; the caller sees to it that stop() begins only when this has returned.
	void restart()
	{
		if (const cxxrt::Workqueue *wq = smp_load_acquire(&wq_))
			tick_.requeue_after(*wq, interval());
	}
	// Asks the peer for a sign of life now: some time later, silent() tells whether it gave
	// one. As restart().
	void probe()
	{
		if (const cxxrt::Workqueue *wq = smp_load_acquire(&wq_))
			tick_.requeue_after(*wq, 0);
	}
	bool silent() const { return pure_.silent(); }
	// Whether the peer is known to have been heard after a mark: Heartbeat. Any context.
	u64 mark() const { return pure_.mark(); }
	bool heard_since(u64 mark) const { return pure_.heard_since(mark); }
	// May sleep. No-op if it does not run. Not from the lost callback.
	void stop()
	{
		WRITE_ONCE(wq_, static_cast<const cxxrt::Workqueue *>(nullptr));
		tick_.cancel_sync();
	}

	void on_traffic() { pure_.on_traffic(); }
	// Answers a heartbeat of the peer. The caller fails the path on an error.
	Status on_message(Connection &service)
	{
		pure_.on_traffic();
		return post(service, kHeartbeatAckImm);
	}
	void on_ack() { pure_.on_ack(ktime_get_ns()); }
	u64 latency_ns() const { return pure_.latency(); }
	u32 missed() const { return pure_.missed(); }

private:
	unsigned long interval() const { return msecs_to_jiffies(READ_ONCE(limits_.interval_ms)); }

	void tick()
	{
		const cxxrt::Workqueue *wq = READ_ONCE(wq_);
		if (!wq)
			return;
		const u64 interval_ns = u64{READ_ONCE(limits_.interval_ms)} * NSEC_PER_MSEC;
		switch (pure_.on_tick(READ_ONCE(limits_.missed_max), ktime_get_ns(), interval_ns)) {
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
		tick_.queue_after(*wq, interval());
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
	const HeartbeatLimits &limits_;
	Connection *service_ = nullptr;
	const cxxrt::Workqueue *wq_ = nullptr; // null: stopped
	Heartbeat pure_;
	cxxrt::DelayedWork<HeartbeatTimer, &HeartbeatTimer::tick> tick_{this};
};

} // namespace rtrs
