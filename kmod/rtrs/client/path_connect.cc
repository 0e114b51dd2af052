// SPDX-License-Identifier: GPL-2.0
// One attempt to connect a path: its service connection, the others, then the INFO exchange on the
// service connection, then receives (protocol A.8). All of it is done by the owner. A step that
// fails leaves what was made to tear_down().
#include <cxxrt/log.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/wire/info.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// Each try makes a new queue pair, with a new number.
constexpr u32 kStaleTries = 10;
constexpr u32 kStalePauseMs = 500;

// So many connections are made side by side. A path of a machine with many CPUs has hundreds, and
// what connection managers send each other in a burst has a queue of finite length at its end.
constexpr u32 kTogether = 32;

} // namespace

Status Path::connect()
{
	TRY(begin_proof());
	TRY(open_connections());
	requests_ = TRY(RequestTable::create(device_, limits_, queue_depth()));
	for (Box<ClientConnection> &con : connections_) {
		const u32 count = con->is_service() ? kServiceReceives : 2 * queue_depth().value;
		TRY(con->provide_receives(min_of(count, limits_.queue_wrs),
					  new_keys_ || capsules_));
	}
	TRY(exchange_info());
	session_.agree_on_heartbeats(connections_[0]->reply());
	TRY(start_receives());
	remember_addresses();
	if (!dir_)
		TRY(create_files());
	return {};
}

Status Path::open_connections()
{
	set_split(session_.connections());
	connections_ = TRY(Array<Box<ClientConnection>>::create(split_.total()));
	TRY(open_connection(0));
	TRY(agree_on_limits());
	// The in-tree client has one after the other, so nobody has seen what the in-tree server
	// makes of several. That of this project, which offers fences, takes them in any order.
	const u32 together = fences_ ? kTogether : 1;
	const u32 end = static_cast<u32>(connections_.size());
	for (u32 cid = 1; cid < end; cid += together)
		TRY(open_connections(cid, min_of(cid + together, end)));
	return {};
}

// From `first` to before `end`, each step of all of them before the next one.
Status Path::open_connections(u32 first, u32 end)
{
	for (u32 cid = first; cid < end; cid++)
		connections_[cid] =
		    TRY(make_box<ClientConnection>(GFP_KERNEL, *this, static_cast<u16>(cid)));
	const auto each = [&](Status (ClientConnection::*step)()) -> Status {
		for (u32 cid = first; cid < end; cid++)
			TRY((connections_[cid].get()->*step)());
		return {};
	};
	set_resolving(true);
	Status s = each(&ClientConnection::ask_for_address);
	if (s.ok())
		s = each(&ClientConnection::await_address);
	set_resolving(false);
	TRY(s);
	TRY(each(&ClientConnection::prepare));
	TRY(each(&ClientConnection::request));
	for (u32 cid = first; cid < end; cid++) {
		s = connections_[cid]->await_acceptance();
		if (!s.ok() && s.error() == err::eagain) {
			await_end_of_stale(static_cast<u16>(cid));
			s = open_connection(static_cast<u16>(cid));
		}
		TRY(s);
	}
	return {};
}

Status Path::open_connection(u16 cid)
{
	for (u32 tries = 0;; tries++) {
		connections_[cid] = TRY(make_box<ClientConnection>(GFP_KERNEL, *this, cid));
		const Status s = connections_[cid]->establish();
		if (s.ok() || !(s.error() == err::eagain) || tries == kStaleTries)
			return s;
		await_end_of_stale(cid);
	}
}

// The server is told by its connection manager; it may take a moment.
void Path::await_end_of_stale(u16 cid)
{
	log_info(log_name(), "con %u: the server ends a connection of an earlier life", cid);
	(void)changed_.wait_for(msecs_to_jiffies(kStalePauseMs),
				[this] { return state() != State::Connecting; });
}

// What REQ says (protocol A.3).
ConnectRequestFields Path::connect_request(u16 cid) const
{
	return {
	    .cid = {cid},
	    .connection_count = static_cast<u16>(connections_.size()),
	    .reconnect_count = attempt_number_,
	    .path = uuid_,
	    .session = session_.uuid(),
	    .first_connection = first_connection_,
	    .fences = true,
	    .epoch = epoch_,
	    .capsules = true,
	    .short_heartbeats = true,
	    .authentication = static_cast<bool>(exchange_),
	    .algorithms = kKnownAlgorithms,
	    .fewer_connections = true,
	};
}

// The device that the connection manager found for a connection: cid 0 decides, and the others
// share its memory regions.
Status Path::use_device(rdma_cm_id *id)
{
	if (device_) {
		if (device_.ibdev() == id->device)
			return {};
		log_error(log_name(), "the route leads to more than one RDMA device");
		return err::ehostunreach;
	}
	device_ = TRY(PathDevice::open(id->device));
	limits_ = TRY(DeviceLimits::of(device_, id->port_num));

	LockGuard<Mutex> held(info_lock_);
	hca_name_.assign(TextView::of(dev_name(&device_.ibdev()->dev)));
	hca_port_ = id->port_num;
	WRITE_ONCE(port_down_, !limits_.port_active);
	return {};
}

void Path::shorten_send_queues(u32 wrs)
{
	log_info(log_name(), "the device has no room for its send queues, trying %u work requests",
		 wrs);
	limits_.send_wrs = wrs;
}

void Path::set_split(const ConnectionSplit &split)
{
	LockGuard<Mutex> held(info_lock_);
	split_ = split;
}

// Protocol J.5. There is only the service connection yet.
Status Path::agree_on_connections(const ConnectReplyFields &reply)
{
	if (!reply.connections)
		return {};
	if (reply.connections > split_.total()) {
		log_error(log_name(), "malformed answer: %u connections, %u were asked for",
			  reply.connections, split_.total());
		return err::einval;
	}
	set_split(split_connections(split_, reply.connections));
	connections_.truncate(split_.total());
	return {};
}

Status Path::agree_on_limits()
{
	const ConnectReplyFields &reply = connections_[0]->reply();
	TRY(agree_on_proof(reply));
	// The server knows the session now, so every path may create it anew (protocol A.8).
	first_connection_ = true;
	new_keys_ = reply.new_rkey;
	capsules_ = reply.capsules;
	fences_ = reply.fences;
	TRY(agree_on_connections(reply));
	serial_ = reply.path_serial;
	instance_ = reply.session_instance;
	__atomic_store_n(&carried_fence_, 0u, __ATOMIC_RELEASE);
	Result<const SessionLimits *> agreed = session_.agree(*this, reply, limits_);
	if (!agreed.ok()) {
		// For good, but on the word of one who has still to prove who he is.
		refused_ = !exchange_;
		return agreed.error();
	}
	session_limits_ = agreed.value();
	return {};
}

// ---- INFO (protocol A.4) ----

Status Path::exchange_info()
{
	ClientConnection &service = *connections_[0];
	info_received_ = false;
	const bool proves = exchange_ && owes_proof(exchange_->state);
	const u32 slots = session_limits_->reply.queue_depth.value;
	info_request_ = TRY(DmaBuffer::create(
	    device_.ibdev(), proves ? kProvenInfoRequestSize : sizeof(InfoRequest), DMA_TO_DEVICE));
	info_response_ = TRY(DmaBuffer::create(
	    device_.ibdev(), proves ? proven_info_response_size(slots) : info_response_size(slots),
	    DMA_FROM_DEVICE));

	const u32 lkey = device_.pd()->local_dma_lkey;
	ib_sge in{};
	in.addr = info_response_.dma_addr();
	in.length = static_cast<u32>(info_response_.size());
	in.lkey = lkey;
	ib_recv_wr receive{};
	receive.wr_cqe = info_received_entry_.get();
	receive.sg_list = &in;
	receive.num_sge = 1;
	TRY(Status::from_code(ib_post_recv(service.qp, &receive, nullptr)));

	const InfoRequest message = make_info_request(session_.session_name());
	memcpy(info_request_.data(), &message, sizeof(message));
	if (proves)
		TRY(add_proof());
	info_request_.sync_for_device(0, info_request_.size());
	ib_sge out{};
	out.addr = info_request_.dma_addr();
	out.length = static_cast<u32>(info_request_.size());
	out.lkey = lkey;
	ib_send_wr send{};
	send.opcode = IB_WR_SEND;
	send.wr_cqe = info_sent_.get();
	send.sg_list = &out;
	send.num_sge = 1;
	WRITE_ONCE(proof_sent_, proves);
	TRY(service.post_send(&send, &send, {.work_requests = 1}, Signal::Always));

	TRY(await([this] { return smp_load_acquire(&info_received_); }));
	WRITE_ONCE(proof_sent_, false);
	TRY(read_info_response());
	LockGuard<Mutex> held(info_lock_);
	WRITE_ONCE(proven_, proves ? exchange_->id.generation.value : 0);
	return {};
}

void Path::on_info_sent(const ib_wc &wc)
{
	connections_[0]->on_send_done(wc);
}

void Path::on_info_received(const ib_wc &wc)
{
	if (wc.status != IB_WC_SUCCESS || wc.opcode != IB_WC_RECV) {
		connections_[0]->on_broken(wc);
		return;
	}
	connections_[0]->counters().inc(&WrCounters::recv_completions);
	info_size_ = wc.byte_len;
	smp_store_release(&info_received_, true);
	wake();
}

Status Path::read_info_response()
{
	info_response_.sync_for_cpu(0, info_response_.size());
	ByteView message(info_response_.data(), min_of<usize>(info_size_, info_response_.size()));
	// Before a byte of it is believed.
	if (exchange_)
		message = TRY(check_server_proof(message));
	const QueueDepth used = queue_depth();
	remote_ = TRY(Array<RemoteChunk>::create(used.value));
	const Status s = for_each_remote_slot(message, session_limits_->reply.queue_depth,
					      session_limits_->chunk,
					      [&](Slot slot, RemoteAddress address, Rkey rkey) {
						      if (used.contains(slot))
							      remote_[slot.value] = {address, rkey};
					      });
	if (!s.ok())
		log_error(log_name(), "malformed list of chunks from the server: %d", s.code());
	return s;
}

Status Path::start_receives()
{
	// Handlers post again from here on; tear_down() stops that.
	WRITE_ONCE(posting_, true);
	for (Box<ClientConnection> &con : connections_)
		TRY(con->start_receives());
	return {};
}

// The source that the connection manager picked is kept: the name of the path's directory is made
// from it, once, and the path comes back under that name (protocol F.1).
void Path::remember_addresses()
{
	if (!pair_.has_src) {
		pair_.src = connections_[0]->id()->route.addr.src_addr;
		pair_.has_src = true;
		// A port of its own for each connection.
		switch (pair_.src.ss_family) {
		case AF_INET:
			reinterpret_cast<sockaddr_in &>(pair_.src).sin_port = 0;
			break;
		case AF_INET6:
			reinterpret_cast<sockaddr_in6 &>(pair_.src).sin6_port = 0;
			break;
		case AF_IB:
			reinterpret_cast<sockaddr_ib &>(pair_.src).sib_sid = 0;
			break;
		}
	}
	LockGuard<Mutex> held(info_lock_);
	shown_addresses_ = pair_;
}

} // namespace rtrs::client
