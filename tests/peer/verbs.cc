// SPDX-License-Identifier: GPL-2.0
#include "verbs.hh"

#include "stain.hh"

#include <arpa/inet.h>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <thread>

namespace peer {
namespace {

constexpr uint64_t kSendMark = uint64_t{1} << 63;

void check(int rc, const char *what)
{
	if (rc)
		throw LocalError(std::string(what) + ": " + std::strerror(errno));
}

using AddressInfo = std::unique_ptr<addrinfo, decltype([](addrinfo *a) { freeaddrinfo(a); })>;

AddressInfo address_of(const std::string &host, const char *port)
{
	addrinfo *found = nullptr;
	if (getaddrinfo(host.c_str(), port, nullptr, &found) || !found)
		throw LocalError("bad address " + host);
	return AddressInfo(found);
}

} // namespace

Memory::Memory(ibv_pd *pd, size_t size, int access) : bytes_(size), access_(access)
{
	enroll(pd);
}

void Memory::enroll(ibv_pd *pd)
{
	mr_ = ibv_reg_mr(pd, bytes_.data(), bytes_.size(), access_);
	if (!mr_)
		throw LocalError(std::string("ibv_reg_mr: ") + std::strerror(errno));
}

void Memory::renew()
{
	stain::search(bytes_);
	ibv_pd *pd = mr_->pd;
	ibv_dereg_mr(mr_);
	enroll(pd);
}

Memory::Memory(Memory &&o) noexcept : bytes_(std::move(o.bytes_)), access_(o.access_), mr_(o.mr_)
{
	o.mr_ = nullptr;
}

Memory::~Memory()
{
	stain::search(bytes_);
	if (mr_)
		ibv_dereg_mr(mr_);
}

Connection::Connection(const std::string &server, uint16_t port, const std::string &source)
{
	channel_ = rdma_create_event_channel();
	if (!channel_)
		throw LocalError(std::string("rdma_create_event_channel: ") + std::strerror(errno));
	check(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), "fcntl");
	check(rdma_create_id(channel_, &id_, this, RDMA_PS_TCP), "rdma_create_id");

	const AddressInfo to = address_of(server, std::to_string(port).c_str());
	const AddressInfo from = source.empty() ? nullptr : address_of(source, nullptr);
	check(rdma_resolve_addr(id_, from ? from->ai_addr : nullptr, to->ai_addr, 5000),
	      "rdma_resolve_addr");
	for (auto step : {RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED}) {
		if (step == RDMA_CM_EVENT_ROUTE_RESOLVED)
			check(rdma_resolve_route(id_, 5000), "rdma_resolve_route");
		rdma_cm_event *event = wait_event(milliseconds(10000));
		if (!event || event->event != step)
			throw LocalError("cannot resolve " + server);
		rdma_ack_cm_event(event);
	}
	create_queues();
}

Connection::Connection(rdma_cm_id *request, uint32_t peer_qp) : peer_qp_(peer_qp), accepts_(true)
{
	channel_ = rdma_create_event_channel();
	if (!channel_)
		throw LocalError(std::string("rdma_create_event_channel: ") + std::strerror(errno));
	check(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), "fcntl");
	check(rdma_migrate_id(request, channel_), "rdma_migrate_id");
	id_ = request;
	create_queues();
}

void Connection::create_queues()
{
	cq_ = ibv_create_cq(id_->verbs, 4096, nullptr, nullptr, 0);
	if (!cq_)
		throw LocalError("ibv_create_cq");
	ibv_qp_init_attr attr{};
	attr.send_cq = attr.recv_cq = cq_;
	attr.cap = {.max_send_wr = 1024,
		    .max_recv_wr = 1024,
		    .max_send_sge = 1,
		    .max_recv_sge = 1,
		    .max_inline_data = 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	check(rdma_create_qp(id_, nullptr, &attr), "rdma_create_qp");
	staging_.emplace(id_->pd, kStaging);
}

Connection::~Connection()
{
	staging_.reset();
	if (id_ && id_->qp)
		rdma_destroy_qp(id_);
	if (cq_)
		ibv_destroy_cq(cq_);
	if (id_)
		rdma_destroy_id(id_);
	if (channel_)
		rdma_destroy_event_channel(channel_);
}

rdma_cm_event *Connection::wait_event(milliseconds timeout)
{
	pollfd p{.fd = channel_->fd, .events = POLLIN, .revents = 0};
	if (poll(&p, 1, static_cast<int>(timeout.count())) <= 0)
		return nullptr;
	rdma_cm_event *event = nullptr;
	return rdma_get_cm_event(channel_, &event) ? nullptr : event;
}

void Connection::connect_without_waiting(std::span<const std::byte> private_data)
{
	rdma_conn_param param{};
	param.private_data = private_data.data();
	param.private_data_len = static_cast<uint8_t>(private_data.size());
	param.retry_count = 7;
	param.rnr_retry_count = 7;
	check(rdma_connect(id_, &param), "rdma_connect");
}

ConnectResult Connection::connect(std::span<const std::byte> private_data, milliseconds timeout)
{
	connect_without_waiting(private_data);
	ConnectResult result{
	    .kind = ConnectResult::Kind::Failed, .cm_event = -1, .private_data = {}};
	rdma_cm_event *event = wait_event(timeout);
	if (!event)
		return result;
	result.cm_event = event->event;
	peer_qp_ = event->param.conn.qp_num;
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		result.kind = ConnectResult::Kind::Accepted;
	else if (event->event == RDMA_CM_EVENT_REJECTED)
		result.kind = ConnectResult::Kind::Rejected;
	auto *data = static_cast<const std::byte *>(event->param.conn.private_data);
	if (data)
		result.private_data.assign(data, data + event->param.conn.private_data_len);
	stain::search(result.private_data);
	rdma_ack_cm_event(event);
	return result;
}

void Connection::accept(std::span<const std::byte> private_data)
{
	rdma_conn_param param{};
	param.private_data = private_data.data();
	param.private_data_len = static_cast<uint8_t>(private_data.size());
	param.rnr_retry_count = 7;
	if (rdma_accept(id_, &param))
		broken_ = true; // the client has gone meanwhile
}

void Connection::disconnect()
{
	rdma_disconnect(id_);
}

void Connection::post_recv(uint64_t wr_id, Memory *memory)
{
	ibv_sge sge{};
	ibv_recv_wr wr{};
	wr.wr_id = wr_id;
	if (memory) {
		sge = {.addr = memory->address(),
		       .length = static_cast<uint32_t>(memory->size()),
		       .lkey = memory->lkey()};
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	ibv_recv_wr *bad = nullptr;
	if (ibv_post_recv(id_->qp, &wr, &bad))
		broken_ = true;
}

std::byte *Connection::stage(std::span<const std::byte> data)
{
	if (data.size() > kStaging)
		throw LocalError("message too large for the staging memory");
	if (staged_ + data.size() > kStaging)
		staged_ = 0;
	std::byte *at = staging_->data() + staged_;
	std::memcpy(at, data.data(), data.size());
	staged_ += data.size();
	return at;
}

void Connection::post_send(std::span<const std::byte> data, std::optional<uint32_t> imm)
{
	ibv_sge sge{.addr = reinterpret_cast<uint64_t>(stage(data)),
		    .length = static_cast<uint32_t>(data.size()),
		    .lkey = staging_->lkey()};
	ibv_send_wr wr{};
	wr.wr_id = kSendMark;
	wr.sg_list = &sge;
	wr.num_sge = data.empty() ? 0 : 1;
	wr.opcode = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	if (imm)
		wr.imm_data = htonl(*imm);
	post(wr);
}

void Connection::post_send_invalidating(uint32_t rkey, std::span<const std::byte> data)
{
	ibv_sge sge{.addr = reinterpret_cast<uint64_t>(stage(data)),
		    .length = static_cast<uint32_t>(data.size()),
		    .lkey = staging_->lkey()};
	ibv_send_wr wr{};
	wr.wr_id = kSendMark;
	wr.sg_list = &sge;
	wr.num_sge = data.empty() ? 0 : 1;
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = rkey;
	post(wr);
}

void Connection::post_write(std::span<const std::byte> data, uint64_t address, uint32_t rkey,
			    std::optional<uint32_t> imm)
{
	ibv_sge sge{.addr = reinterpret_cast<uint64_t>(stage(data)),
		    .length = static_cast<uint32_t>(data.size()),
		    .lkey = staging_->lkey()};
	ibv_send_wr wr{};
	wr.wr_id = kSendMark;
	wr.sg_list = &sge;
	wr.num_sge = data.empty() ? 0 : 1;
	wr.opcode = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	if (imm)
		wr.imm_data = htonl(*imm);
	wr.wr.rdma = {.remote_addr = address, .rkey = rkey};
	post(wr);
}

void Connection::post(ibv_send_wr &wr)
{
	ibv_send_wr *bad = nullptr;
	if (ibv_post_send(id_->qp, &wr, &bad))
		broken_ = true;
	else
		sends_++;
}

// One round over the completion queue. Whether anything was found.
bool Connection::poll_once()
{
	ibv_wc wc[16];
	int n = ibv_poll_cq(cq_, 16, wc);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			// The connection manager may have told of the end before.
			if (failure_ == IBV_WC_SUCCESS)
				failure_ = wc[i].status;
			broken_ = true;
		} else if (wc[i].wr_id == kSendMark)
			sends_--;
		else
			received_.push_back(wc[i]);
	}
	return n > 0;
}

std::optional<ibv_wc> Connection::poll_recv()
{
	poll_once();
	if (received_.empty())
		return {};
	ibv_wc wc = received_.front();
	received_.erase(received_.begin());
	return wc;
}

std::optional<ibv_wc> Connection::wait_recv(milliseconds timeout)
{
	auto deadline = Clock::now() + timeout;
	for (;;) {
		if (auto wc = poll_recv())
			return wc;
		if (broken_ || Clock::now() > deadline)
			return {};
		std::this_thread::sleep_for(std::chrono::microseconds(200));
	}
}

bool Connection::wait_closed(milliseconds timeout)
{
	auto deadline = Clock::now() + timeout;
	while (!broken_ && Clock::now() < deadline)
		look_for_end(milliseconds(20));
	return broken_;
}

bool Connection::poll_closed()
{
	if (!broken_)
		look_for_end(milliseconds(0));
	return broken_;
}

void Connection::look_for_end(milliseconds timeout)
{
	if (rdma_cm_event *event = wait_event(timeout)) {
		broken_ = event->event == RDMA_CM_EVENT_DISCONNECTED ||
			  event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT;
		rdma_ack_cm_event(event);
	}
	poll_once();
}

bool Connection::wait_sends(milliseconds timeout)
{
	auto deadline = Clock::now() + timeout;
	while (sends_ && !broken_ && Clock::now() < deadline)
		if (!poll_once())
			std::this_thread::sleep_for(std::chrono::microseconds(200));
	return sends_ == 0 && !broken_;
}

} // namespace peer
