// SPDX-License-Identifier: GPL-2.0
// The end of everything that a connected path has. The order is binding: each step needs the one
// before (protocol B.1.3, Documentation/design.md). Called by the owner, in a state that admits no
// new request; what was not made yet is skipped, so it may be called twice.
#include <cxxrt/log.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>

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
	// 1. Submitters and handlers that saw the path alive have posted when this returns, and
	// those who come later see that it is not.
	WRITE_ONCE(posting_, false);
	synchronize_rcu();
	// 2. No heartbeat is posted any more, and nobody looks at the age of requests.
	heartbeat_.stop();
	deadline_.cancel_sync();
	// 3. Every handler has run, and none will run again.
	for (Box<ClientConnection> &con : connections_)
		if (con)
			con->disconnect();
	for (Box<ClientConnection> &con : connections_)
		if (con)
			con->drain();
	// 4. Nobody but this walk ends requests now.
	end_requests();
	// 5. The memory that they used; regions before their device.
	requests_.reset();
	remote_.reset();
	info_request_.reset();
	info_response_.reset();
	// 6. The user learns of it when all his requests have ended or moved.
	if (exchange(reported_up_, false)) {
		log_info(log_name(), "disconnected");
		session_.path_down();
	}
	// 7. Queues, then the device, then the ids: a device that is being removed waits for the
	// ids only, and is gone when the last one is destroyed. That waits for the id's handler.
	for (Box<ClientConnection> &con : connections_)
		if (con)
			con->release_queues();
	device_.reset();
	connections_.reset();
}

void Path::end_requests()
{
	if (!requests_)
		return;
	for (Request &request : *requests_)
		if (request.state != RequestState::Idle)
			end_request(request);
}

void Path::end_request(Request &request)
{
	// Protection domains are shared, so a key that was handed out opens the memory to every
	// peer, this queue pair or not: the region goes before the memory.
	if (request.registered) {
		request.region.reset();
		request.registered = false;
	}
	if (request.state == RequestState::Answered) {
		// The server has answered.
		finish(request, request.status);
		return;
	}
	const rtrs_clt_request &in = request.in;
	if (in.nr_sg)
		ib_dma_unmap_sg(device_.ibdev(), in.sg, static_cast<int>(in.nr_sg),
				request.dma_direction());
	stats_->finished(request.direction(), request.started_ns, request.cpu);
	const int status = fail_over(request);
	request.state = RequestState::Idle;
	if (status) {
		stats_->error(PathError::Lost);
		trace::complete(*this, request, status);
		in.done(in.priv, status);
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
