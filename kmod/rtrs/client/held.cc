// SPDX-License-Identifier: GPL-2.0
// Requests that wait for their turn (rtrs/pure/registration_gate.hh), on devices that execute local
// work twice. Those that were held go as one chain, all registrations behind one guard:
//
//	[LOCAL_INV → REG_MR 1] → REG_MR 2 → ... → message 1 → message 2 → ...
//
// A held request is submitted to all others: it is counted, its age is looked at, and the tear-down
// of the path moves it to another one.
#include <cxxrt/rcu.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {

GatePass ClientConnection::pass_gate(Request &request)
{
	return gate_.with([&](Gate &g) {
		const GatePass pass = g.state.pass();
		if (pass == GatePass::Hold) {
			path_.hold(request);
			g.held.push_back(request);
		} else {
			WRITE_ONCE(let_in_, &request);
		}
		return pass;
	});
}

// A handler of this connection has found the answer to a request that registered memory.
void ClientConnection::open_gate(const Request &request)
{
	gate_.with([&](Gate &g) {
		if (let_in_ == &request)
			g.state.answered();
	});
}

// Under RcuReader, in a handler of this connection: so nobody else is here or uses the batch, and
// no answer comes between the states and the post.
void ClientConnection::post_held()
{
	if (!path_.posting())
		return;
	const u32 count = gate_.with([&](Gate &g) {
		u32 n = 0;
		while (n < batch_.size() && (batch_[n].request = g.held.pop_front()))
			n++;
		g.state.completed(n != 0);
		return n;
	});
	if (!count)
		return;
	const Status posted = path_.post_batch(*this, batch_.begin(), count);
	if (posted.ok())
		return;
	if (!(posted.error() == err::eagain)) {
		path_.fail(posted.error(), PathError::Post);
		return;
	}
	// The queue is full, so there is another completion, whose handler tries again.
	gate_.with([&](Gate &g) {
		for (u32 i = count; i--;) {
			path_.hold(*batch_[i].request);
			g.held.push_front(*batch_[i].request);
		}
	});
}

// The queues are drained, and the tear-down ends the requests.
void ClientConnection::drop_held()
{
	gate_.with([](Gate &g) {
		while (g.held.pop_front())
			;
	});
}

// Whether it comes from submit() or has found no room. Under the lock of the gate.
void Path::hold(Request &r)
{
	LockGuard<SpinLock> held(r.lock);
	if (r.state == RequestState::Idle)
		stats_->submitted(r.direction(), r.in.data_len + static_cast<u32>(r.in.msg_len),
				  r.in.nr_sg);
	r.state = RequestState::Held;
	r.registered = false;
}

} // namespace rtrs::client
