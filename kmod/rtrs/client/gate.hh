// SPDX-License-Identifier: GPL-2.0
// The gate of a connection whose device executes local work twice (PathDevice): requests that
// register memory wait here for their turn (rtrs/pure/registration_gate.hh), in turns of their
// users (rtrs/pure/turn_queue.hh). A batch passes like one request, and those who waited go as one
// chain
//
//	[LOCAL_INV → REG_MR 1] → REG_MR 2 → ... → message 1 → message 2 → ...
//
// with all registrations behind one guard.
//
// A connection of any other device has none, and nothing on the way of its requests asks whether
// it has: the looks that there are anyway lead here (ClientConnection::Mark on the way out and at
// the completion of a send, RequestState::LetIn on the way back). One look a batch is all.
//
// Owner: the connection, from before its queues to its end. What is gated is Held, like what is
// collected. Its wait ends: a signaled work request is outstanding, whose handler posts it; or the
// path dies, and its tear-down takes it.
#pragma once

#include <cxxrt/list.hh>
#include <rtrs/client/request.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/registration_gate.hh>
#include <rtrs/pure/turn_queue.hh>

namespace rtrs::client {

class ClientConnection;

class ClientGate {
public:
	explicit ClientGate(ClientConnection &con) : con_(con) {}

	// What leads here (with Path::take_aside()) stays out of the way of those who have no gate,
	// and can be probed.

	// ---- under the lock of the connection's outbox ----

	// A request that comes alone. Hold: it waits here now.
	GatePass let_request_in(Request &request);
	// One of a batch waits here, till that is let in by post_gated_batch().
	void add_to_batch(Request &request);
	noinline Status post_gated_batch();
	// A send has completed: posts who waits. Errors of both are the device's.
	noinline Status open_by_completion();
	// The answer to what was let in last.
	noinline void open_by_answer(const Request &request);
	// They are not posted any more.
	noinline void drop_gated();

	// ---- without ----

	// Whether open_by_answer() wants to know.
	bool awaits_answer_to(const Request &request) const
	{
		return READ_ONCE(let_in_) == &request;
	}

private:
	void note_whether_open();
	Result<bool> post_gated_chain(Signal signal);

	ClientConnection &con_;
	RegistrationGate state_;
	const Request *let_in_ = nullptr; // the last that passed
	TurnQueue<Request, cxxrt::List<Request, &Request::waiting>> gated_;
};

} // namespace rtrs::client
