// SPDX-License-Identifier: GPL-2.0
// Connection requests that wait, host by host.
#include <rtrs/server/requests.hh>

#include <cxxrt/memory.hh>
#include <rtrs/server/module.hh>

using namespace cxxrt;

namespace rtrs::server {

void Requests::Host::queue()
{
	work.queue(stranger ? module_->strangers : module_->known_hosts);
}

// Nothing of this waits for another host, nor for the network: under the handler lock of the id
// that listens.
Status Requests::take(rdma_cm_id *id, const rdma_conn_param &param, const Source &source,
		      bool stranger)
{
	Box<Request> request = TRY(make_box<Request>(GFP_KERNEL));
	// Used only where the host has none yet.
	Ref<Host> fresh = TRY(make_ref<Host>(GFP_KERNEL, *this, source, stranger));
	request->id = id;
	request->qp_num = param.qp_num;
	request->size = static_cast<u8>(min_of<usize>(param.private_data_len, kPrivateDataSize));
	if (request->size)
		__builtin_memcpy(request->data, param.private_data, request->size);

	return state_.with([&](State &s) -> Status {
		WaitingRequests waiting = s.waiting;
		// Whatever else waits of the host.
		if (!may_wait(waiting, false))
			return err::enomem;
		Host *host = nullptr;
		for (Host &h : s.hosts) {
			if (h.source == source) {
				host = &h;
				break;
			}
		}
		waiting.of_host = host ? host->count : 0;
		if (!may_wait(waiting, host ? host->stranger : stranger))
			return err::enomem;
		// From here on the id's events are the request's.
		id->context = request.get();
		id->event_handler = event;
		if (!host) {
			host = fresh.release();
			s.hosts.push_back(*host);
			WRITE_ONCE(s.count, s.count + 1);
			host->queue();
		}
		host->waiting.push_back(*request.release());
		host->count++;
		s.waiting.all++;
		s.waiting.strangers += host->stranger;
		return {};
	});
}

// One, and then it is the turn of other hosts. The host stays on the list meanwhile, so what comes
// of it finds it, and its order is kept.
void Requests::serve_next(Host &host)
{
	const Box<Request> request = Box<Request>::adopt(state_.with([&](State &s) {
		host.count--;
		s.waiting.all--;
		s.waiting.strangers -= host.stranger;
		return host.waiting.pop_front();
	}));
	serve(*request);
	const bool last = state_.with([&](State &s) {
		if (!host.waiting.empty()) {
			host.queue();
			return false;
		}
		s.hosts.remove(host);
		WRITE_ONCE(s.count, s.count - 1);
		idle_.wake_all();
		return true;
	});
	// The list's reference; the one of this run is still there.
	if (last)
		Ref<Host>::adopt(&host).reset();
}

void Requests::serve(Request &request)
{
	rdma_conn_param param{};
	param.private_data = request.data;
	param.private_data_len = request.size;
	param.qp_num = request.qp_num;
	const bool over = state_.with([](State &s) { return s.stopping; });
	// The connection manager rejects what is destroyed without an answer.
	if (over || is_gone(request) || !serve_(server_, request.id, param).ok())
		rdma_destroy_id(request.id);
}

void Requests::stop()
{
	state_.with([](State &s) { s.stopping = true; });
	idle_.wait([&] { return !READ_ONCE(state_.exclusive().count); });
	// Their last runs may still be on their way out of what is this one's.
	module_->strangers.flush();
	module_->known_hosts.flush();
}

bool Requests::is_gone(Request &request)
{
	rdma_lock_handler(request.id);
	const bool gone = request.gone;
	rdma_unlock_handler(request.id);
	return gone;
}

// Rejected by its client, which has waited for too long, disconnected, or without a device any
// more. The result is always 0: the work item destroys the id.
int Requests::event(rdma_cm_id *id, rdma_cm_event *)
{
	static_cast<Request *>(id->context)->gone = true;
	return 0;
}

Status Requests::hand_over(rdma_cm_id *id, void *context, rdma_cm_event_handler handler)
{
	rdma_lock_handler(id);
	const bool gone = static_cast<Request *>(id->context)->gone;
	if (!gone) {
		id->context = context;
		id->event_handler = handler;
	}
	rdma_unlock_handler(id);
	return gone ? Status(err::econnreset) : Status();
}

} // namespace rtrs::server
