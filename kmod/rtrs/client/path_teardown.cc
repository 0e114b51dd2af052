// SPDX-License-Identifier: GPL-2.0
// The end of everything that a connected path has. The order is binding: each step needs the one
// before (protocol B.1.3, Documentation/design.md). Called by the owner, in a state that admits no
// new request; what was not made yet is skipped, so it may be called twice.
#include <cxxrt/log.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>
#include <rtrs/core/delayed_dreq.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// A request that moves to another path may find that path's queue full for a moment.
constexpr u32 kFailOverTries = 1000;
constexpr u32 kFailOverPauseMs = 10;

} // namespace

void Path::tear_down()
{
	if (!connections_.size()) {
		device_.reset();
		return;
	}
	// What follows may wait for others: who watches learns of it now.
	if (reported_up_)
		announce(SessionEvent::Kind::PathLost);
	// 1. Submitters and handlers that saw the path alive have posted when this returns, and
	// those who come later see that it is not.
	WRITE_ONCE(posting_, false);
	synchronize_rcu();
	// 2. No heartbeat is posted any more, and nobody looks at the age of requests.
	heartbeat_.stop();
	deadline_.cancel_sync();
	// 3. Every handler has run, and none will run again.
	const Box<ClientConnection> &service = connections_[0];
	const DelayedDreq dreq = DelayedDreq::of(device_, service ? service->id() : nullptr);
	if (dreq.at_once())
		for (Box<ClientConnection> &con : connections_)
			if (con)
				con->disconnect();
	for (Box<ClientConnection> &con : connections_)
		if (con)
			con->drain();
	// The softirq looks at its connection even after it has said that it is done.
	synchronize_rcu();
	// 4. Nobody but this walk ends requests now. None goes elsewhere before the server has
	// ended this path too.
	end_requests();
	// 5. The memory that they used; regions before their device.
	requests_.reset();
	remote_.reset();
	info_request_.reset();
	info_response_.reset();
	// 6. The user learns of it when all his requests have ended or moved.
	if (exchange(reported_up_, false)) {
		log_info(log_name(), "disconnected");
		session_.path_down(*this);
	}
	// 7. Queues, then the device, then the ids: a device that is being removed waits for the
	// ids only, and is gone when the last one is destroyed. That waits for the id's handler.
	for (Box<ClientConnection> &con : connections_)
		if (con)
			con->release_queues();
	device_.reset();
	dreq.wait();
	connections_.reset();
	exchange_.reset();
}

void Path::end_requests()
{
	if (!requests_)
		return;
	// The regions first. The queue pairs of this protection domain are drained, so no peer
	// reaches the memory any more, but the device may still look at the mapping while a region
	// has it.
	const RequestTable::InFlight requests = requests_->in_flight();
	u32 count = 0;
	for (Request *request : requests)
		if (close_request(*request))
			requests.first[count++] = request;
	if (count)
		move_requests(requests.first, count);
}

// The memory is out of everybody's reach. False: the request has ended, for the server has
// answered it; true: it is to go elsewhere.
bool Path::close_request(Request &request)
{
	if (request.registered) {
		request.region.reset();
		request.registered = false;
	}
	if (request.state == RequestState::Answered) {
		finish(request, request.status);
		return false;
	}
	const rtrs_clt_request &in = request.in;
	if (in.nr_sg)
		ib_dma_unmap_sg(device_.ibdev(), in.sg, static_cast<int>(in.nr_sg),
				request.dma_direction());
	stats_->finished(request.direction(), ktime_get_ns() - request.started_ns, request.cpu);
	return true;
}

// In the order of submission: what follows depends on what went before, if anything does. Messages
// of the user's, that are no block requests, end here.
void Path::move_requests(Request **first, u32 count)
{
	const bool fenced = session_.fence(*this);
	u32 lost = 0;
	for (u32 i = 0; i < count; i++) {
		Request &request = *first[i];
		// Rule: control ends with its path
		// Its user knows what may be said again. The server works on nothing of it that it
		// has not begun, so paths stay as they are.
		if (fenced && request.in.admin) {
			request.state = RequestState::Idle;
			trace::complete(*this, request, err::econnaborted.code());
			request.in.done(request.in.priv, err::econnaborted.code(), nullptr,
					ktime_get_ns());
			continue;
		}
		request.status = fenced ? fail_over(request) : err::econnaborted.code();
		if (request.status)
			first[lost++] = &request;
		else
			request.state = RequestState::Idle;
	}
	if (!lost)
		return;
	// The user may write anew as soon as he knows, and the first copies may still be running.
	session_.give_up();
	for (u32 i = 0; i < lost; i++) {
		Request &request = *first[i];
		request.state = RequestState::Idle;
		stats_->error(PathError::Lost);
		trace::complete(*this, request, request.status);
		request.in.done(request.in.priv, request.status, nullptr, ktime_get_ns());
	}
}

// The same slot, message and data on another connected path. 0: it is that path's request now.
int Path::fail_over(Request &request)
{
	for (u32 i = 0; i < kFailOverTries; i++) {
		const Status s = session_.submit(request.in, SubmitKind::FailOver);
		if (s.ok())
			return 0;
		if (!(s.error() == err::eagain) && !(s.error() == err::enomem))
			break;
		// raw: the work item of this path has nothing else to do, and the wait is short
		msleep(kFailOverPauseMs);
	}
	return err::econnaborted.code();
}

} // namespace rtrs::client
