// SPDX-License-Identifier: GPL-2.0
// The throttle of a connection whose device executes local work twice (PathDevice): requests that
// register memory wait here for their turn (rtrs/pure/frwr_throttle.hh), in turns of their
// users (rtrs/pure/fair_queue.hh). A batch passes like one request, and those who waited go as one
// chain
//
//	[LOCAL_INV → REG_MR 1] → REG_MR 2 → ... → message 1 → message 2 → ...
//
// with all registrations behind one guard.
//
// A connection of any other device has none, and nothing on the way of its requests asks whether
// it has: the looks that there are anyway lead here (ClientConnection::Mark on the way out and at
// the completion of a send, RequestState::Passed on the way back). One look a batch is all.
//
// Owner: the connection, from before its queues to its end. What is throttled is Held, like what is
// collected. Its wait ends: a signaled work request is outstanding, whose handler posts it; or the
// path dies, and its tear-down takes it.
#pragma once

#include <cxxrt/list.hh>
#include <rtrs/client/request.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/frwr_throttle.hh>
#include <rtrs/pure/fair_queue.hh>

namespace rtrs::client {

class ClientConnection;

class ClientThrottle {
public:
	explicit ClientThrottle(ClientConnection &con) : con_(con) {}

	// What leads here (with Path::take_slow_path()) stays out of the way of those who have no
	// throttle, and can be probed.

	// ---- under the lock of the connection's send batch ----

	// A request that comes alone. Hold: it waits here now.
	ThrottlePass pass_request(Request &request);
	// One of a batch waits here, till that passes in post_throttled_batch().
	void add_to_batch(Request &request);
	noinline Status post_throttled_batch();
	// A send has completed: posts who waits. Errors of both are the device's.
	noinline Status open_by_completion();
	// The answer to what passed last.
	noinline void open_by_answer(const Request &request);
	// They are not posted any more.
	noinline void drop_throttled();

	// ---- without ----

	// Whether open_by_answer() wants to know.
	bool awaits_answer_to(const Request &request) const
	{
		return READ_ONCE(passed_) == &request;
	}

private:
	void note_whether_open();
	Result<bool> post_throttled_chain(Signal signal);

	ClientConnection &con_;
	FrwrThrottle state_;
	const Request *passed_ = nullptr; // the last that passed
	FairQueue<Request, cxxrt::List<Request, &Request::waiting>> throttled_;
};

} // namespace rtrs::client
