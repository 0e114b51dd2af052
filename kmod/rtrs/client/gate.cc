// SPDX-License-Identifier: GPL-2.0
// The gate, and the way of requests on connections that have one.
#include <rtrs/client/gate.hh>

#include <cxxrt/rcu.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/post.hh>

using namespace cxxrt;

namespace rtrs::client {

// ---- passing it; in line, in what its connection calls below ----

// Whenever it moves, and before anything is posted through it: who handles the completion that
// it waits for sees that it does.
[[gnu::always_inline]] inline void ClientGate::note_whether_open()
{
	con_.mark_gate_waits(!state_.is_open());
}

[[gnu::always_inline]] inline void ClientGate::add_to_batch(Request &request)
{
	con_.path().hold(request);
	gated_.push(request, request.in.user);
}

[[gnu::always_inline]] inline GatePass ClientGate::let_request_in(Request &request)
{
	const GatePass pass = state_.pass();
	if (pass == GatePass::Hold) {
		// Who is here already has said so, or will when his batch ends.
		const bool first = gated_.empty();
		add_to_batch(request);
		if (first)
			con_.await_sends();
		return pass;
	}
	WRITE_ONCE(let_in_, &request);
	note_whether_open();
	return pass;
}

// ---- requests that the looks of others lead here; under RcuReader ----

// A request of a connection that has a gate, which wants to pass that or comes with others; or one
// of a service connection, which collects nothing.
noinline Status Path::take_aside(ClientConnection &con, Request &r, bool more)
{
	const bool has_gate = con.has_gate();
	if (has_gate && (more || con.collects())) {
		r.needs_region() ? con.collect_at_gate(r) : con.collect(r);
		if (!more)
			con.commit();
		return {};
	}
	// Those of others may have gone since the look that led here.
	if (!has_gate || !r.needs_region())
		return post_aside(r, Signal::WhenDue, RequestState::Posted);
	const GatePass pass = con.let_request_in(r);
	if (pass == GatePass::Hold)
		return {};
	return post_aside(r, pass == GatePass::PostSignaled ? Signal::Always : Signal::WhenDue,
			  RequestState::LetIn);
}

// With a frame of its own, which those that are held do without.
noinline Status Path::post_aside(Request &r, Signal signal, RequestState posted_as)
{
	return post(r, signal, posted_as);
}

Status ClientConnection::create_gate()
{
	gate_ = TRY(make_box<ClientGate>(GFP_KERNEL, *this));
	outbox_.with([this](Outbox &) {
		mark(kCollectsFreely, false);
		mark(kHasGate, true);
	});
	return {};
}

GatePass ClientConnection::let_request_in(Request &request)
{
	return outbox_.with([&](Outbox &) { return gate_->let_request_in(request); });
}

noinline void ClientConnection::collect_at_gate(Request &request)
{
	outbox_.with([&](Outbox &) {
		gate_->add_to_batch(request);
		mark(kCollects, true);
	});
}

void ClientConnection::answer_let_in(const Request &request)
{
	if (gate_->awaits_answer_to(request))
		outbox_.with([&](Outbox &) { gate_->open_by_answer(request); });
}

// ---- chains ----

Status ClientGate::post_gated_batch()
{
	while (!gated_.empty()) {
		const GatePass pass = state_.pass();
		if (pass == GatePass::Hold)
			break;
		note_whether_open();
		const Signal signal =
		    pass == GatePass::PostSignaled ? Signal::Always : Signal::WhenDue;
		if (!TRY(post_gated_chain(signal)))
			break;
	}
	// Those who are left are posted by the completion of what went before them.
	if (!gated_.empty())
		con_.await_sends();
	return {};
}

Status ClientGate::open_by_completion()
{
	state_.completed(!gated_.empty());
	note_whether_open();
	if (!gated_.empty())
		TRY(post_gated_chain(Signal::Always));
	if (!gated_.empty())
		con_.await_sends_in_handler();
	return {};
}

void ClientGate::open_by_answer(const Request &request)
{
	if (let_in_ == &request)
		state_.answered();
	note_whether_open();
}

// As many as a chain takes, in turns of their users: each has kRegionSges, and there are as many
// for the longest chain. False: there was no room, and all is as it was.
Result<bool> ClientGate::post_gated_chain(Signal signal)
{
	ChainEntry *const chain = con_.chain();
	u32 count = 0;
	gated_.take_chain(con_.chain_room(), [&](Request &r) { chain[count++].request = &r; });
	const Status s = con_.post_chain(count, signal, RequestState::LetIn);
	if (!s.ok() && s.error() == err::eagain) {
		while (count) {
			Request &request = *chain[--count].request;
			gated_.put_back(request, request.in.user);
		}
		return false;
	}
	TRY(s);
	gated_.end_chain();
	WRITE_ONCE(let_in_, chain[count - 1].request);
	return true;
}

void ClientGate::drop_gated()
{
	gated_.drop_all();
}

} // namespace rtrs::client
