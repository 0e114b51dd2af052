// SPDX-License-Identifier: GPL-2.0
// Requests that wait in front of the send queue, on lists of their connection:
//
//  - collected: for the end of the batch in which their user submits them (`more`). They go as one
//    chain, with one doorbell;
//  - parked: answered ones, whose invalidations found no room.
//
// Those that wait for the throttle (throttle.hh), on devices that have one, are posted under the
// lock of the send batch too, by the same ends of batches and completions.
//
// A held request, collected or throttled, is submitted to all others: it is counted, its age is
// looked at, and the tear-down of the path moves it to another one. The wait of one that is
// collected ends: by commit(), which its user calls before he leaves his RCU read section, or if he
// does not, by the next look at the age of requests; by a completion that is outstanding when the
// queue is full; or the path dies.
#include <cxxrt/rcu.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {

// ---- submitters; under RcuReader ----

void ClientConnection::collect(Request &request)
{
	send_batch_.with([&](SendBatch &o) {
		path_.hold(request);
		o.collected.push_back(request);
		mark(kCollects, true);
	});
}

// When the path has begun to end, it takes the requests with it.
void ClientConnection::commit()
{
	if (!path_.posting())
		return;
	fail_unless_posted(send_batch_.with([this](SendBatch &o) -> Status {
		TRY(post_batched(o));
		return throttle_ ? throttle_->post_throttled_batch() : Status();
	}));
}

// ---- handlers of this connection; under RcuReader ----

// Until who is posting has said what he posted.
void ClientConnection::await_poster()
{
	send_batch_.with([](SendBatch &) {});
}

// A full queue has a completion outstanding, whose handler can't run before this one returns.
void ClientConnection::invalidate(Request &request)
{
	// The tear-down deregisters the region.
	if (!path_.posting())
		return;
	const Status s = post_invalidation(request);
	if (!s.ok() && s.error() == err::eagain)
		send_batch_.with([&](SendBatch &o) {
			o.parked.push_back(request);
			mark(kParks, true);
		});
	else
		fail_unless_posted(s);
}

// A send has completed, and somebody may wait. Answered requests first: they hold open memory.
noinline void ClientConnection::post_waiting()
{
	if (!path_.posting())
		return;
	fail_unless_posted(send_batch_.with([this](SendBatch &o) -> Status {
		while (Request *request = o.parked.front()) {
			const Status s = post_invalidation(*request);
			if (!s.ok() && s.error() == err::eagain)
				return {};
			TRY(s);
			o.parked.pop_front();
		}
		mark(kParks, false);
		if (o.starved)
			TRY(post_batched(o));
		return throttle_ ? throttle_->open_by_completion() : Status();
	}));
}

// ---- chains; under the send batch lock ----

Status ClientConnection::post_batched(SendBatch &o)
{
	o.starved = false;
	while (!o.collected.empty() && !o.starved)
		o.starved = !TRY(post_collected_chain(o.collected));
	mark(kCollects, !o.collected.empty());
	return {};
}

// As many as a chain takes. False: there was no room, all is as it was, and there is a completion
// outstanding, whose handler has to wait for the lock.
Result<bool> ClientConnection::post_collected_chain(Requests &collected)
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
	const Status s = post_chain(count, Signal::WhenDue);
	if (!s.ok() && s.error() == err::eagain) {
		while (count)
			collected.push_front(*chain_[--count].request);
		return false;
	}
	TRY(s);
	return true;
}

Status ClientConnection::post_chain(u32 count, Signal signal, RequestState last)
{
	return path_.post_chain(*this, chain_.begin(), count, sges_.begin(), signal, last);
}

// Errors but EAGAIN, which the posts above have seen to.
void ClientConnection::fail_unless_posted(Status posted)
{
	if (!posted.ok())
		path_.fail(posted.error(), PathError::Post);
}

// The queues are drained, and the tear-down ends the requests.
void ClientConnection::drop_waiting()
{
	send_batch_.with([this](SendBatch &o) {
		Requests *const lists[] = {&unsent_, &o.parked, &o.collected};
		for (Requests *list : lists)
			while (list->pop_front())
				;
		if (throttle_)
			throttle_->drop_throttled();
		mark(kCollects, false);
		mark(kParks, false);
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
