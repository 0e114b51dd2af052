// SPDX-License-Identifier: GPL-2.0
// Queues, events and completions of one connection.
#include <rtrs/server/connection.hh>

#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/requests.hh>
#include <rtrs/server/session.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

constexpr u32 kMaxAnswer = kMaxAnswerWrs + Registration::kMaxGuards;
// Of slots that go together (batch.cc, throttle.hh), in one chain.
constexpr u32 kMaxTogether = 64;
static_assert(kMaxAnswer <= ServerConnection::max_service_chain());

} // namespace

ServerConnection::ServerConnection(Path &path, u16 cid, PerCpu<WrCounters> &counters)
    : Connection(cid, counters), path_(path), recv_{{received}, this}, send_{{sent}, this},
      info_recv_{{info_received}, this}, setup_{{setup_sent}, this}
{
	for (u32 i = 0; i < kCompletionBatch; i++) {
		again_[i].wr_cqe = &recv_.cqe;
		if (i)
			again_[i - 1].next = &again_[i];
	}
}

bool ServerConnection::has_receive_memory() const
{
	return !ConnectionId{cid()}.is_service() && path_.capsules() &&
	       settings().always_invalidate;
}

QueuePlan ServerConnection::plan() const
{
	const bool service = ConnectionId{cid()}.is_service();
	const ib_device_attr &device = path_.device().attrs();
	// A read is answered by data, invalidation and answer; with new keys there is one more work
	// request to register it, and before that one to take the old one away.
	u32 per_request = settings().always_invalidate ? 5 : 3;
	if (!service && path_.has_throttles())
		per_request += Registration::kMaxGuards;
	return plan_queues(service, settings().queue_depth(), per_request,
			   static_cast<u32>(device.max_qp_wr), static_cast<u32>(device.max_cqe));
}

u64 ServerConnection::bytes() const
{
	return connection_bytes(plan(), has_receive_memory() ? kMaxCapsule : 0);
}

Status ServerConnection::adopt(rdma_cm_id *id)
{
	cm_id = id;
	return Requests::hand_over(id, this, cm_event);
}

Status ServerConnection::open()
{
	if (!ConnectionId{cid()}.is_service() && path_.has_throttles()) {
		throttle_ = TRY(make_box<ServerThrottle>(GFP_KERNEL, *this));
		due_ = kAtThrottle;
		expecting_ = kThrottle;
	}
	// A device may have less room than its limit of work requests says, since these are of
	// several sizes: then fewer do.
	QueuePlan queues = plan();
	for (;;) {
		const Status s = create(queues);
		if (s.ok() || !(s.error() == err::enomem || s.error() == err::einval) ||
		    queues.sends / 2 < kFewestSends)
			return s;
		queues.sends /= 2;
	}
}

Status ServerConnection::create(const QueuePlan &queues)
{
	const bool service = ConnectionId{cid()}.is_service();
	rtrs_queue_config config{};
	config.recv_wrs = queues.receives;
	config.send_wrs = queues.sends;
	config.send_sges = 1;
	config.max_chain = max_service_chain();
	if (!service) {
		const u32 together = throttle_batch(config.send_wrs, kMaxAnswerWrs, kMaxTogether);
		config.max_chain = together * kMaxAnswerWrs + Registration::kMaxGuards;
		chain_ = TRY(Array<ChainEntry>::create(together));
		const u32 lkey = path_.device().pd()->local_dma_lkey;
		for (ChainEntry &e : chain_)
			e.format(send_cqe(), lkey, PathRegions::access());
		config.batch = on_batch;
	}
	config.signal_interval = min_of(settings().queue_depth(), kMaxSignalInterval);
	config.cq_vector = path_.vector_for(cid());
	config.poll = IB_POLL_WORKQUEUE;
	config.qp_event = qp_event;
	recvs_ = service ? min_of(kServiceReceives, config.recv_wrs) : config.recv_wrs;
	return create_queues(path_.device().get(), cm_id, config);
}

Status ServerConnection::accept()
{
	const ConnectReply reply = make_connect_reply({
	    .queue_depth = settings().layout.queue_depth(),
	    .max_io_size = {settings().max_io_size()},
	    .max_header_size = {settings().header_size},
	    .new_rkey = settings().always_invalidate,
	    .fences = path_.fences(),
	    .path_serial = path_.serial(),
	    .session_instance = path_.instance(),
	    .capsules = path_.capsules(),
	    .short_heartbeats = path_.short_heartbeats(),
	    .authentication = path_.proof() != nullptr,
	    .nonce = path_.proof() ? path_.proof()->nonce : ServerNonce{},
	    .connections = path_.granted_connections(),
	});
	if (path_.proof() && ConnectionId{cid()}.is_service())
		path_.proof()->reply = reply;
	rdma_conn_param param{};
	param.private_data = &reply;
	param.private_data_len = sizeof(reply);
	param.rnr_retry_count = kRnrRetryCount;
	// Behind the REP the path's INFO may come, and end the exchange, before this returns.
	if (path_.proof())
		path_.proof()->challenged = true;
	path_.accepts_one();
	rdma_lock_handler(cm_id);
	const int code = rdma_accept(cm_id, &param);
	rdma_unlock_handler(cm_id);
	return Status::from_code(code);
}

Status ServerConnection::post_info_recv()
{
	const DmaBuffer &buffer = path_.info_request();
	ib_sge sge{};
	sge.addr = buffer.dma_addr();
	sge.length = static_cast<u32>(buffer.size());
	sge.lkey = path_.device().pd()->local_dma_lkey;
	ib_recv_wr wr{};
	wr.wr_cqe = &info_recv_.cqe;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	return Status::from_code(ib_post_recv(qp, &wr, nullptr));
}

// Where a request has nothing to take back, its message lies in the chunk.
Status ServerConnection::post_recvs()
{
	if (has_receive_memory())
		TRY(capsules_.provide(path_.device(), *this, recvs_, capsule_received));
	for (CapsuleReceives::Entry &entry : capsules_)
		TRY(CapsuleReceives::post(qp, entry));
	if (!capsules_)
		for (u32 i = 0; i < recvs_; i++)
			TRY(post_empty_recv(&recv_.cqe));
	return {};
}

void ServerConnection::disconnect()
{
	// An error means that it is not connected.
	rdma_disconnect(cm_id);
}

void ServerConnection::release_queues()
{
	destroy_queues();
	chain_.reset();
	capsules_.reset();
}

void ServerConnection::destroy_id()
{
	rdma_destroy_id(cm_id);
	cm_id = nullptr;
}

// ---- events ----

// Protocol B.2. The id is destroyed by the close work only, so the result is always 0.
int ServerConnection::cm_event(rdma_cm_id *id, rdma_cm_event *event)
{
	auto *con = static_cast<ServerConnection *>(id->context);
	Path &path = con->path_;
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		path.on_heard();
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		if (!path.closing())
			log_error_limited(path.name(), "connection %u: %s, status %d", con->cid(),
					  rdma_event_msg(event->event), event->status);
		path.close();
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		path.close();
		break;
	default:
		log_warning_limited(path.name(), "connection %u: unexpected %s, status %d",
				    con->cid(), rdma_event_msg(event->event), event->status);
		break;
	}
	return 0;
}

void ServerConnection::qp_event(ib_event *event, void *context)
{
	auto *con = static_cast<ServerConnection *>(static_cast<rtrs_connection *>(context));
	switch (event->event) {
	case IB_EVENT_COMM_EST:
		// The peer's first message overtook its last handshake message.
		rdma_notify(con->cm_id, IB_EVENT_COMM_EST);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		break;
	default:
		if (!con->path_.closing())
			log_error_limited(con->path_.name(), "connection %u: %s", con->cid(),
					  ib_event_msg(event->event));
		con->path_.close();
		break;
	}
}

// ---- receives ----

// One receive of exactly the right size was posted for it, so it comes once; anything longer is an
// error of the queue pair.
void ServerConnection::info_received(ib_cq *, ib_wc *wc)
{
	Path &path = of(wc).path_;
	if (wc->status != IB_WC_SUCCESS) {
		path.fail(*wc);
		return;
	}
	of(wc).counters().inc(&WrCounters::recv_completions);
	of(wc).count_one();
	const ServerPathState state = path.state();
	if (wc->opcode != IB_WC_RECV ||
	    (state != ServerPathState::Connecting && state != ServerPathState::Applying)) {
		path.refuse(Refusal::InfoMalformed, "something else instead of INFO_REQ");
		return;
	}
	const DmaBuffer &buffer = path.info_request();
	buffer.sync_for_cpu(0, buffer.size());
	path.on_info_request(ByteView(buffer.data(), min_of<usize>(wc->byte_len, buffer.size())));
}

noinline void ServerConnection::on_service(ServerImm imm)
{
	switch (imm.kind) {
	case ServerImm::Kind::Request:
		break;
	case ServerImm::Kind::Heartbeat:
		answer_heartbeat();
		break;
	case ServerImm::Kind::HeartbeatAck:
		path_.heartbeat().on_ack();
		break;
	case ServerImm::Kind::Fence:
		path_.on_fence(imm.serial);
		break;
	}
}

void ServerConnection::answer_heartbeat()
{
	RcuReader posting;
	if (!path_.may_post())
		return;
	// With a full queue the peer sees traffic anyway.
	const Status s = path_.heartbeat().on_message(*this);
	if (!s.ok() && !full(s))
		path_.refuse(Refusal::CompletionError, "a heartbeat could not be answered");
}

// Completions of a batch are counted together.
void ServerConnection::count_one()
{
	if (!batch) [[unlikely]]
		count_completions(path_.stats(), 1);
}

// ---- sends ----

// Of a chain only the last work request is ever signaled, so a success stands for the chain, while
// an error may be of any of its parts.
void ServerConnection::sent(ib_cq *, ib_wc *wc)
{
	of(wc).on_sent(*wc);
}

void ServerConnection::on_sent(const ib_wc &wc)
{
	if (wc.status != IB_WC_SUCCESS) [[unlikely]] {
		path_.fail(wc);
		return;
	}
	on_send_completed();
}

void ServerConnection::setup_sent(ib_cq *cq, ib_wc *wc)
{
	sent(cq, wc);
	of(wc).path_.on_setup_sent();
}

void ServerConnection::on_send_completed()
{
	count_one();
	send_completed();
	// Once for all of a batch.
	if (plug_)
		due_ |= kSent;
	else if (READ_ONCE(expecting_)) [[unlikely]]
		post_expecting();
}

noinline void ServerConnection::post_expecting()
{
	if (READ_ONCE(expecting_) & kPending)
		post_pending();
	if (throttle_)
		throttle_->open_by_completion();
}

void ServerConnection::drop_pending()
{
	while (RequestSlot *slot =
		   pending_.with([](PendingQueue &waiting) { return waiting.pop_front(); }))
		slot->dropped();
	drop_invalidating();
	if (throttle_)
		throttle_->drop_throttled();
}

} // namespace rtrs::server
