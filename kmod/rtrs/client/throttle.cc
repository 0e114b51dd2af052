// SPDX-License-Identifier: GPL-2.0
// The throttle, and the way of requests on connections that have one.
#include <rtrs/client/throttle.hh>

#include <cxxrt/rcu.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/post.hh>

using namespace cxxrt;

namespace rtrs::client {

// ---- passing it; in line, in what its connection calls below ----

// Whenever it moves, and before anything is posted through it: who handles the completion that
// it waits for sees that it does.
[[gnu::always_inline]] inline void ClientThrottle::note_whether_open()
{
	con_.mark_throttle_waits(!state_.is_open());
}

[[gnu::always_inline]] inline void ClientThrottle::add_to_batch(Request &request)
{
	con_.path().hold(request);
	throttled_.push(request, request.in.user);
}

[[gnu::always_inline]] inline ThrottlePass ClientThrottle::pass_request(Request &request)
{
	const ThrottlePass pass = state_.pass();
	if (pass == ThrottlePass::Hold) {
		// A request that is throttled already has set the mark, or sets it when its batch
		// ends.
		const bool first = throttled_.empty();
		add_to_batch(request);
		if (first)
			con_.await_sends();
		return pass;
	}
	WRITE_ONCE(passed_, &request);
	note_whether_open();
	return pass;
}

// ---- requests that the looks of others lead here; under RcuReader ----

// A request of a connection that has a throttle, which wants to pass that or comes with others; or
// one of a service connection, which collects nothing.
noinline Status Path::take_slow_path(ClientConnection &con, Request &r, bool more)
{
	const bool has_throttle = con.has_throttle();
	if (has_throttle && (more || con.collects())) {
		r.needs_region() ? con.collect_at_throttle(r) : con.collect(r);
		if (!more)
			con.commit();
		return {};
	}
	// Those of others may have gone since the look that led here.
	if (!has_throttle || !r.needs_region())
		return post_slow_path(r, Signal::WhenDue, RequestState::Posted);
	const ThrottlePass pass = con.pass_request(r);
	if (pass == ThrottlePass::Hold)
		return {};
	return post_slow_path(r,
			      pass == ThrottlePass::PostSignaled ? Signal::Always : Signal::WhenDue,
			      RequestState::Passed);
}

// With a frame of its own, which those that are held do without.
noinline Status Path::post_slow_path(Request &r, Signal signal, RequestState posted_as)
{
	return post(r, signal, posted_as);
}

Status ClientConnection::create_throttle()
{
	throttle_ = TRY(make_box<ClientThrottle>(GFP_KERNEL, *this));
	send_batch_.with([this](SendBatch &) {
		mark(kCollectsFreely, false);
		mark(kHasThrottle, true);
	});
	return {};
}

ThrottlePass ClientConnection::pass_request(Request &request)
{
	return send_batch_.with([&](SendBatch &) { return throttle_->pass_request(request); });
}

noinline void ClientConnection::collect_at_throttle(Request &request)
{
	send_batch_.with([&](SendBatch &) {
		throttle_->add_to_batch(request);
		mark(kCollects, true);
	});
}

void ClientConnection::answer_passed(const Request &request)
{
	if (throttle_->awaits_answer_to(request))
		send_batch_.with([&](SendBatch &) { throttle_->open_by_answer(request); });
}

// ---- chains ----

Status ClientThrottle::post_throttled_batch()
{
	while (!throttled_.empty()) {
		const ThrottlePass pass = state_.pass();
		if (pass == ThrottlePass::Hold)
			break;
		note_whether_open();
		const Signal signal =
		    pass == ThrottlePass::PostSignaled ? Signal::Always : Signal::WhenDue;
		if (!TRY(post_throttled_chain(signal)))
			break;
	}
	// Those who are left are posted by the completion of what went before them.
	if (!throttled_.empty())
		con_.await_sends();
	return {};
}

Status ClientThrottle::open_by_completion()
{
	state_.completed(!throttled_.empty());
	note_whether_open();
	if (!throttled_.empty())
		TRY(post_throttled_chain(Signal::Always));
	if (!throttled_.empty())
		con_.await_sends_in_handler();
	return {};
}

void ClientThrottle::open_by_answer(const Request &request)
{
	if (passed_ == &request)
		state_.answered();
	note_whether_open();
}

// As many as a chain takes, in turns of their users: each has kRegionSges, and there are as many
// for the longest chain. False: there was no room, and all is as it was.
Result<bool> ClientThrottle::post_throttled_chain(Signal signal)
{
	ChainEntry *const chain = con_.chain();
	u32 count = 0;
	throttled_.take_chain(con_.chain_room(), [&](Request &r) { chain[count++].request = &r; });
	const Status s = con_.post_chain(count, signal, RequestState::Passed);
	if (!s.ok() && s.error() == err::eagain) {
		while (count) {
			Request &request = *chain[--count].request;
			throttled_.put_back(request, request.in.user);
		}
		return false;
	}
	TRY(s);
	throttled_.end_chain();
	WRITE_ONCE(passed_, chain[count - 1].request);
	return true;
}

void ClientThrottle::drop_throttled()
{
	throttled_.drop_all();
}

} // namespace rtrs::client
