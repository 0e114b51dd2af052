// SPDX-License-Identifier: GPL-2.0
// The throttle of a connection whose device executes local work twice and makes an invalidation
// wait until all before it is acknowledged (PathDevice): slots wait here for their turn
// (rtrs/pure/frwr_throttle.hh), if each request gives its chunk a new key. A slot is posted
// alone, or the end of a batch takes all that were collected in it to the throttle, as one; those
// who waited go as one chain by step, with all registrations behind one guard:
//
//	LOCAL_INV 1 → ... → LOCAL_INV n, the only one with a completion
//	[LOCAL_INV → REG_MR 1] → REG_MR 2 → ... → rest of answer 1 → rest of answer 2 → ...
//
// A connection of any other path has none, and nothing on the way of its requests asks whether it
// has: the looks that there are anyway lead here. They are the path's state when a slot is posted
// alone (Path::posts_freely()), ServerConnection::due_ at the end of a batch, and ::expecting_ when
// a send has completed.
//
// Owner: the connection, from before its queues until after them, since chains of answers complete
// here. A slot that is throttled is its request's, as while it waits for room. Its wait ends by the
// completion of a send that is outstanding, or the path closes.
#pragma once

#include <cxxrt/fifo.hh>
#include <cxxrt/guarded.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/frwr_throttle.hh>
#include <rtrs/server/slot.hh>

namespace rtrs::server {

class ServerConnection;

class ServerThrottle {
public:
	using Step = RequestSlot::Step;

	explicit ServerThrottle(ServerConnection &con) : con_(con), answers_{{answers_sent}, this}
	{
	}

	// What leads here stays out of the way of those who have no throttle, and can be probed.

	// A slot alone. Hold: it waits here now. Any context, under RcuReader, and the path may
	// post.
	noinline ThrottlePass pass_slot(RequestSlot &slot);

	// ---- handlers of the connection, and ends of their batches ----

	// More have been collected than go in a chain: behind those who wait already.
	noinline void throttle_collected(Step step);
	// The end of a batch in which a send has completed if `sent`: posts what was collected, and
	// who waits, as far as it is their turn.
	noinline void end_batch(bool sent);
	// The same without a batch.
	noinline void open_by_completion();
	// After all handlers.
	noinline void drop_throttled();

private:
	struct Throttled {
		FrwrThrottle state;
		cxxrt::Fifo<RequestSlot, &RequestSlot::pending> slots[2]; // by step
	};
	// Of chains of answers whose completion somebody waits for.
	struct AnswersCqe {
		ib_cqe cqe;
		ServerThrottle *throttle;
	};

	static void answers_sent(ib_cq *cq, ib_wc *wc);
	// While answers are unacknowledged, what is posted would wait in the queue for that, and
	// more may come to be posted till then.
	bool may_open() const { return !unacknowledged_; }
	void post_throttled(bool opened);
	void post_throttled(Step step, bool opened);
	u32 take_throttled(Step step, bool opened, Signal &signal);
	Status post_chain(Step step, u32 count, Signal signal);
	void put_back(Step step, u32 count);
	void throttle(Throttled &throttled, Step step, u32 count);

	ServerConnection &con_;
	cxxrt::Guarded<Throttled, cxxrt::SpinLock> throttled_{
	    cxxrt::lock_class<"rtrs_server_throttle">()};
	// Of handlers, which run one after the other.
	bool overflown_[2] = {}; // by step: throttle_collected() in the present batch
	u32 unacknowledged_ = 0; // chains of answers
	AnswersCqe answers_;
};

} // namespace rtrs::server
