// SPDX-License-Identifier: GPL-2.0
// The connection manager's part of a connection (protocol A.8, B.1.5).
#include <cxxrt/err_ptr.hh>
#include <cxxrt/log.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// Work requests of one request: registration, write, invalidation. The chain that is posted in one
// go is registration and write. The guard of a registration is for soft-RoCE alone, and for a few
// chains at a time: the others wait (throttle.hh).
constexpr u32 kWrsPerRequest = 3;
constexpr u32 kMaxChain = 2 + Registration::kMaxGuards;
// Of requests that go together (send_batch.cc), in one chain. Where they wait for a throttle, a
// chain is what moves in the time of a message and its acknowledgement: 16 were a bottleneck.
constexpr u32 kMaxBatch = 64;
// Room for the gather lists of a chain: of small ones, or of one of any size.
constexpr u32 kChainSges = kMaxBatch * kRegionSges + kMaxSendSges;
// Of the service connection: messages of all permits, each a request and what it is signaled by, a
// heartbeat and the answer to one, a fence, a sign of life. A server that sends faster than that is
// received waits, as its adapter repeats (protocol A.7 has what in-tree provides, which is memory
// that nobody uses).
constexpr u32 kServiceWrs = 128;
// A registered region and the message.
constexpr u32 kServiceSges = 2;
// Of a send queue that doesn't fit the device it is made half as long, but no shorter than this.
constexpr u32 kMinSendWrs = 32;

// One request in so many is signaled. Room in the send queue comes back only with a signaled
// completion, so the interval is added to the queue's size; a quarter of the depth, but at least
// 16, keeps that small and the completions rare.
u32 signal_interval(QueueDepth depth)
{
	return clamp(depth.value / 4, 16u, 64u);
}

// How drivers refuse a queue pair that is too large.
bool is_for_size(Error e)
{
	return e == err::enomem || e == err::einval;
}

} // namespace

// ---- events; in the connection manager's context, under the id's mutex ----

// Returns 0 always: the id belongs to the path's work item, which destroys it.
int ClientConnection::on_cm_event(rdma_cm_id *id, rdma_cm_event *event)
{
	auto *con = static_cast<ClientConnection *>(id->context);
	Path &path = con->path_;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		con->note(Step::AddressResolved);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		con->note(Step::RouteResolved);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		con->on_established(event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		con->on_rejected(id, *event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		path.fail(err::econnreset, PathError::Disconnected);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		con->unresolved_ = event->status;
		con->note(Step::Unresolved);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		// The owner takes everything down, which lets the device go. The path comes back
		// by itself when the device does: a reconnect finds it (unlike protocol B.1.2).
		log_warning(path.log_name(), "con %u: the device is being removed", con->cid());
		// The connection manager takes an open question back: nobody answers it any more.
		if (con->step() == Step::Asking)
			con->note(Step::None);
		path.fail(err::enodev, PathError::Disconnected);
		break;
	default:
		log_warning_limited(path.log_name(), "con %u: %s: %d", con->cid(),
				    rdma_event_msg(event->event), event->status);
		path.fail(err::econnreset, PathError::Disconnected,
			  event->event == RDMA_CM_EVENT_UNREACHABLE ? PathReason::NoAnswer
								    : PathReason::None);
		break;
	}
	return 0;
}

void ClientConnection::note(Step step)
{
	smp_store_release(&step_, step);
	path_.wake();
}

void ClientConnection::on_established(const rdma_conn_param &param)
{
	const ByteView data(param.private_data, param.private_data_len);
	peer_qp_ = param.qp_num;
	if (is_service()) {
		Result<ConnectReplyFields> reply = parse_connect_reply(data);
		if (!reply.ok()) {
			log_error_limited(path_.log_name(), "malformed answer of the server: %d",
					  reply.code());
			path_.fail(reply.error(), PathError::Malformed);
			return;
		}
		reply_ = reply.value();
		// parse_connect_reply() found that there is so much.
		__builtin_memcpy(&raw_reply_, param.private_data, sizeof(raw_reply_));
	} else if (const Status s = check_connect_reply(data); !s.ok()) {
		path_.fail(s.error(), PathError::Malformed);
		return;
	}
	note(Step::Established);
}

// By the id of the event: id_ is taken away before the end of that waits for this handler.
void ClientConnection::on_rejected(rdma_cm_id *id, rdma_cm_event &event)
{
	// Not by RTRS: the number of our queue pair is that of one which the server's connection
	// manager believes alive, as after a crash of this machine.
	if (event.status == IB_CM_REJ_STALE_CONN) {
		note(Step::Stale);
		return;
	}
	u8 size = 0;
	const void *data = rdma_consumer_reject_data(id, &event, &size);
	const Error reason = data ? parse_reject(ByteView(data, size)) : err::econnreset;
	log_warning_limited(path_.log_name(), "con %u: rejected: %s, errno %d", cid(),
			    rdma_reject_msg(id, event.status), reason.code());
	path_.fail(reason, PathError::Connect,
		   reason == kStarvedPath			  ? PathReason::Starved
		   : data					  ? PathReason::Refused
		   : event.status == IB_CM_REJ_INVALID_SERVICE_ID ? PathReason::NobodyListens
								  : PathReason::Disconnected);
}

void ClientConnection::on_qp_event(ib_event *event, void *context)
{
	auto *con = static_cast<ClientConnection *>(static_cast<rtrs_connection *>(context));
	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		log_error_limited(con->path_.log_name(), "con %u: %s", con->cid(),
				  ib_event_msg(event->event));
		con->path_.fail(err::econnreset, PathError::Disconnected);
		break;
	default:
		break;
	}
}

// ---- the owner's steps ----

Status ClientConnection::await(Step step, unsigned long timeout)
{
	TRY(path_.await(
	    [this, step] {
		    const Step now = this->step();
		    return now == step || now == Step::Unresolved || now == Step::Stale;
	    },
	    timeout));
	switch (this->step()) {
	case Step::Unresolved:
		return unresolved_ == -ETIMEDOUT ? err::etimedout : err::ehostunreach;
	case Step::Stale:
		return err::eagain;
	default:
		return {};
	}
}

Status ClientConnection::establish()
{
	path_.set_resolving(true);
	Status resolved = ask_for_address();
	if (resolved.ok())
		resolved = await_address();
	path_.set_resolving(false);
	TRY(resolved);
	TRY(prepare());
	TRY(request());
	return await_acceptance();
}

Status ClientConnection::prepare()
{
	TRY(path_.use_device(id_));
	TRY(create_queues_for_role());
	return ask_for_route(kAskAgainMs);
}

Status ClientConnection::request()
{
	TRY(await_route());
	return request_connection();
}

Status ClientConnection::await_acceptance()
{
	const Status s = await(Step::Established, path_.answer_timeout());
	if (!s.ok() && s.error() == err::etimedout)
		path_.heard_nothing();
	return s;
}

// ib_core may lose the answer to a question for an address, if it comes at once, and then looks
// again only when its time is over; and what nobody answers while a cable is out it doesn't ask
// again soon. So it gets a second at most, and is asked anew, all in all for the connect timeout.
// With an id of its own each time: who resolves a second time by one id may have to wait for the
// work item of the first, on a queue without a rescuer (Documentation/locking.md).
Status ClientConnection::await_address()
{
	const unsigned long end = asked_ + msecs_to_jiffies(kConnectTimeoutMs);
	for (;;) {
		const Status s = await(Step::AddressResolved, kStepTimeout);
		if (s.ok() || step() != Step::Unresolved)
			return s;
		if (!(s.error() == err::etimedout) || time_after(jiffies, end)) {
			log_warning_limited(path_.log_name(), "con %u: address unknown: %d", cid(),
					    unresolved_);
			path_.heard_nothing();
			return err::ehostunreach;
		}
		TRY(path_.sleep_until(asked_ + msecs_to_jiffies(asked_for_ms_)));
		drop_id();
		TRY(ask_for_address());
	}
}

Status ClientConnection::ask_for_address()
{
	const rtrs_addr_pair &pair = path_.addresses();
	const bool ib = pair.dst.ss_family == AF_IB;
	id_ = TRY(from_err_ptr(rdma_create_id(&init_net, on_cm_event, this,
					      ib ? RDMA_PS_IB : RDMA_PS_TCP, IB_QPT_RC)));
	// So that several connections can share a source address that was given.
	TRY(Status::from_code(rdma_set_reuseaddr(id_, 1)));
	// The server's connection manager takes its own from the request.
	if (const int tos = path_.session().tos(); tos != kDefaultTypeOfService)
		rdma_set_service_type(id_, tos);

	// The connection manager may write into what it is given.
	rtrs_addr_pair copy = pair;
	auto *src = reinterpret_cast<sockaddr *>(&copy.src);
	auto *dst = reinterpret_cast<sockaddr *>(&copy.dst);
	asked_ = jiffies;
	asked_for_ms_ = address_timeout_.next();
	smp_store_release(&step_, Step::Asking);
	const Status asking = Status::from_code(
	    rdma_resolve_addr(id_, copy.has_src ? src : nullptr, dst, asked_for_ms_));
	if (asking.ok())
		return {};
	smp_store_release(&step_, Step::None);
	log_error(path_.log_name(), "no RDMA device for this address%s: %d",
		  ib ? "; gid: is for InfiniBand, use ip: with RoCE" : "", asking.code());
	return asking;
}

// InfiniBand: a question to the subnet's manager, which may get lost, or be one of many. Elsewhere
// nobody is asked.
Status ClientConnection::await_route()
{
	for (u32 ms = 2 * kAskAgainMs;; ms *= 2) {
		const Status s = await(Step::RouteResolved, kStepTimeout);
		if (s.ok() || step() != Step::Unresolved)
			return s;
		if (!(s.error() == err::etimedout) || ms > kConnectTimeoutMs) {
			log_warning_limited(path_.log_name(), "con %u: no route: %d", cid(),
					    unresolved_);
			path_.heard_nothing();
			return err::ehostunreach;
		}
		TRY(ask_for_route(ms));
	}
}

Status ClientConnection::ask_for_route(u32 ms)
{
	smp_store_release(&step_, Step::AddressResolved);
	return Status::from_code(rdma_resolve_route(id_, ms));
}

// An id whose address is being asked for is not destroyed: the connection manager would wait for
// the question's work item. Its answer comes within a second, and is waited for instead.
void ClientConnection::drop_id()
{
	rdma_cm_id *id = exchange(id_, static_cast<rdma_cm_id *>(nullptr));
	if (!id)
		return;
	path_.await_answer([this] { return step() != Step::Asking; });
	rdma_destroy_id(id);
}

rtrs_queue_config ClientConnection::queue_config() const
{
	const DeviceLimits &dev = path_.device_limits();
	const int vectors = path_.device().ibdev()->num_comp_vectors;
	rtrs_queue_config config{};
	config.qp_event = on_qp_event;
	config.max_chain = kMaxChain;
	if (is_service()) {
		config.send_wrs = min_of(kServiceWrs, dev.send_wrs);
		config.recv_wrs = min_of(kServiceReceives, dev.queue_wrs);
		config.send_sges = min_of(kServiceSges, dev.send_sges);
		config.signal_interval = 16;
		config.cq_vector = static_cast<int>(raw_smp_processor_id()) % vectors;
		config.poll = IB_POLL_SOFTIRQ;
	} else {
		const QueueDepth depth = path_.queue_depth();
		config.signal_interval = signal_interval(depth);
		// All requests at once, and those that are answered but not yet retired.
		config.send_wrs =
		    min_of(kWrsPerRequest * depth.value + kMaxChain * config.signal_interval,
			   dev.send_wrs);
		// An answer takes two receives at most: SEND_WITH_INV and the immediate.
		config.recv_wrs = min_of(2 * depth.value, dev.queue_wrs);
		config.send_sges = dev.send_sges;
		config.cq_vector = static_cast<int>(
		    spread_vector(cid() - 1u, path_.connections().irq, static_cast<u32>(vectors)));
		config.poll = is_polled() ? IB_POLL_DIRECT : IB_POLL_SOFTIRQ;
		config.batch = is_polled() ? nullptr : on_batch;
		const u32 batch = throttle_batch(config.send_wrs, 2, kMaxBatch);
		config.max_chain = 2 * batch + Registration::kMaxGuards;
	}
	return config;
}

// What a device allows for a queue, and for a work request, does not have to go together:
// ConnectX-5 says 32768 and 30 segments, and has no room for 2048 work requests of 18. Nor has its
// memory to be there.
Status ClientConnection::create_queues_for_role()
{
	for (;;) {
		const rtrs_queue_config config = queue_config();
		if (!is_service()) {
			const u32 batch = throttle_batch(config.send_wrs, 2, kMaxBatch);
			chain_ = TRY(Array<ChainEntry>::create(batch));
			sges_ = TRY(Array<ib_sge>::create(kChainSges));
			if (path_.device().replays_local_wrs())
				TRY(create_throttle());
		}
		send_sges_ = config.send_sges;
		const Status s = create_queues(path_.device().get(), id_, config);
		if (s.ok() || !is_for_size(s.error()) || config.send_wrs / 2 < kMinSendWrs)
			return s;
		path_.shorten_send_queues(config.send_wrs / 2);
	}
}

Status ClientConnection::request_connection()
{
	const ConnectRequest request = make_connect_request(path_.connect_request(cid()));
	if (is_service())
		path_.note_request(request);
	rdma_conn_param param{};
	param.private_data = &request;
	param.private_data_len = sizeof(request);
	param.retry_count = kCmRetryCount;
	param.rnr_retry_count = kRnrRetryCount;
	return Status::from_code(rdma_connect(id_, &param));
}

} // namespace rtrs::client
