// SPDX-License-Identifier: GPL-2.0
// Requests that wait in front of the send queue, on lists of their connection:
//
//  - collected: for the end of the batch in which their user submits them (`more`). They go as one
//    chain, with one doorbell;
//  - gated: for their turn to register memory (rtrs/pure/registration_gate.hh), on devices that
//    execute local work twice; a batch passes the gate like one request, and those who wait are
//    taken in turns of their users (rtrs/pure/turn_queue.hh). Of a chain
//
//	[LOCAL_INV → REG_MR 1] → REG_MR 2 → ... → message 1 → message 2 → ...
//
//    all registrations are behind one guard;
//  - parked: answered ones, whose invalidations found no room.
//
// A held request is submitted to all others: it is counted, its age is looked at, and the tear-down
// of the path moves it to another one. Its wait ends: by commit(), which its user calls before he
// leaves his RCU read section, or if he does not, by the next look at the age of requests; by a
// completion that is outstanding when the gate is closed or the queue full; or the path dies.
#include <cxxrt/rcu.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {

// Under the lock, whenever the gate has moved, and before anything is posted through it: who
// handles the completion that it waits for sees that it does.
inline void ClientConnection::note_gate(const Outbox &o)
{
	WRITE_ONCE(gate_waits_, !o.gate.is_open());
}

// ---- submitters; under RcuReader ----

GatePass ClientConnection::pass_gate(Request &request)
{
	return outbox_.with([&](Outbox &o) {
		const GatePass pass = o.gate.pass();
		if (pass == GatePass::Hold) {
			path_.hold(request);
			o.gated->push(request, request.in.user);
		} else {
			WRITE_ONCE(let_in_, &request);
		}
		note_gate(o);
		return pass;
	});
}

void ClientConnection::collect(Request &request)
{
	outbox_.with([&](Outbox &o) {
		path_.hold(request);
		if (gated_ && request.needs_region())
			o.gated->push(request, request.in.user);
		else
			o.collected.push_back(request);
		WRITE_ONCE(collects_, true);
	});
}

// When the path has begun to end, it takes the requests with it.
void ClientConnection::commit()
{
	if (!path_.posting())
		return;
	settle(outbox_.with([this](Outbox &o) -> Status {
		TRY(post_collected(o));
		while (gated_ && !o.gated->empty()) {
			const GatePass pass = o.gate.pass();
			if (pass == GatePass::Hold)
				break;
			const Signal signal =
			    pass == GatePass::PostSignaled ? Signal::Always : Signal::WhenDue;
			note_gate(o);
			if (!TRY(post_gated(o, signal)))
				break;
		}
		return {};
	}));
}

// ---- handlers of this connection; under RcuReader ----

// The answer to a request that registered memory.
void ClientConnection::open_gate(const Request &request)
{
	outbox_.with([&](Outbox &o) {
		if (let_in_ == &request)
			o.gate.answered();
		note_gate(o);
	});
}

// Until who is posting has said what he posted.
void ClientConnection::await_poster()
{
	outbox_.with([](Outbox &) {});
}

// A full queue has a completion outstanding, whose handler can't run before this one returns.
void ClientConnection::invalidate(Request &request)
{
	// The tear-down deregisters the region.
	if (!path_.posting())
		return;
	const Status s = post_invalidation(request);
	if (!s.ok() && s.error() == err::eagain) {
		outbox_.with([&](Outbox &o) { o.parked.push_back(request); });
		parks_ = true;
	} else {
		settle(s);
	}
}

// A send has completed, and somebody may wait. Answered requests first: they hold open memory.
noinline void ClientConnection::on_room()
{
	if (!path_.posting())
		return;
	settle(outbox_.with([this](Outbox &o) -> Status {
		while (Request *request = o.parked.front()) {
			const Status s = post_invalidation(*request);
			if (!s.ok() && s.error() == err::eagain)
				return {};
			TRY(s);
			o.parked.pop_front();
		}
		parks_ = false;
		if (o.starved)
			TRY(post_collected(o));
		if (gated_) {
			o.gate.completed(!o.gated->empty());
			note_gate(o);
			if (!o.gated->empty())
				TRY(post_gated(o, Signal::Always));
		}
		return {};
	}));
}

// ---- chains; under the outbox lock ----

Status ClientConnection::post_collected(Outbox &o)
{
	o.starved = false;
	while (!o.collected.empty() && !o.starved)
		o.starved = !TRY(post_some(o.collected));
	WRITE_ONCE(collects_, !o.collected.empty());
	return {};
}

// As many as a chain takes. False: there was no room, all is as it was, and there is a completion
// outstanding, whose handler has to wait for the lock.
Result<bool> ClientConnection::post_some(Requests &collected)
{
	u32 count = 0;
	u32 sges = 0;
	while (Request *request = collected.front()) {
		sges += request->sges();
		if (count == chain_.size() || sges > sges_.size())
			break;
		collected.pop_front();
		chain_[count++].request = request;
	}
	const Status s =
	    path_.post_chain(*this, chain_.begin(), count, sges_.begin(), Signal::WhenDue);
	if (!s.ok() && s.error() == err::eagain) {
		while (count)
			collected.push_front(*chain_[--count].request);
		return false;
	}
	TRY(s);
	return true;
}

// The same of those that wait for the gate, in turns of their users. Each has kRegionSges, and
// there are as many for the longest chain.
Result<bool> ClientConnection::post_gated(Outbox &o, Signal signal)
{
	Turns &gated = *o.gated;
	u32 count = 0;
	gated.take_chain(chain_.size(), [&](Request &r) { chain_[count++].request = &r; });
	const Status s = path_.post_chain(*this, chain_.begin(), count, sges_.begin(), signal);
	if (!s.ok() && s.error() == err::eagain) {
		while (count) {
			Request &request = *chain_[--count].request;
			gated.put_back(request, request.in.user);
		}
		return false;
	}
	TRY(s);
	gated.end_chain();
	WRITE_ONCE(let_in_, chain_[count - 1].request);
	return true;
}

void ClientConnection::settle(Status posted)
{
	if (!posted.ok())
		path_.fail(posted.error(), PathError::Post);
}

// The queues are drained, and the tear-down ends the requests.
void ClientConnection::drop_held()
{
	outbox_.with([this](Outbox &o) {
		Requests *const lists[] = {&unsent_, &o.parked, &o.collected};
		for (Requests *list : lists)
			while (list->pop_front())
				;
		if (gated_)
			o.gated->drop_all();
		WRITE_ONCE(collects_, false);
		parks_ = false;
	});
}

void Path::hold(Request &r)
{
	LockGuard<SpinLock> held(r.lock);
	stats_->submitted(r.direction(), r.in.data_len + static_cast<u32>(r.in.msg_len),
			  r.in.nr_sg);
	r.state = RequestState::Held;
}

} // namespace rtrs::client
