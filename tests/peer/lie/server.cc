// SPDX-License-Identifier: GPL-2.0
#include "server.hh"

#include "../client.hh"
#include "../stain.hh"

#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <thread>

namespace peer {

using namespace rtrs;

namespace {

constexpr milliseconds kLookForClosed{50};
constexpr milliseconds kStayAwake{100}; // after traffic
constexpr std::chrono::microseconds kShortPause{200};
constexpr milliseconds kLongPause{3};

void check(int rc, const char *what)
{
	if (rc)
		throw LocalError(std::string(what) + ": " + std::strerror(errno));
}

} // namespace

Server::Server(const std::vector<Lie> &lies, uint16_t first_port)
    : channel_(rdma_create_event_channel())
{
	if (!channel_)
		throw LocalError(std::string("rdma_create_event_channel: ") + std::strerror(errno));
	check(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), "fcntl");
	for (const Lie &l : lies)
		listen(l, first_port++);
}

Server::~Server()
{
	paths_.clear();
	for (rdma_cm_id *id : listeners_)
		rdma_destroy_id(id);
	rdma_destroy_event_channel(channel_);
}

void Server::listen(const Lie &lie, uint16_t port)
{
	rdma_cm_id *id = nullptr;
	check(rdma_create_id(channel_, &id, const_cast<Lie *>(&lie), RDMA_PS_TCP),
	      "rdma_create_id");
	listeners_.push_back(id);
	sockaddr_in any{};
	any.sin_family = AF_INET;
	any.sin_port = htons(port);
	check(rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&any)), "rdma_bind_addr");
	check(rdma_listen(id, 16), "rdma_listen");
}

void Server::run(const volatile bool *stop)
{
	auto last = Clock::now();
	auto looked = last;
	while (!*stop) {
		accept_all();
		bool busy = false;
		for (auto &p : paths_)
			busy |= p->poll();
		const auto now = Clock::now();
		if (busy)
			last = now;
		if (now - looked > kLookForClosed) {
			looked = now;
			drop_closed();
		}
		if (now - last < kStayAwake)
			std::this_thread::sleep_for(kShortPause);
		else
			std::this_thread::sleep_for(kLongPause);
	}
}

void Server::accept_all()
{
	rdma_cm_event *event = nullptr;
	while (!rdma_get_cm_event(channel_, &event)) {
		const bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
		const auto *lie =
		    request ? static_cast<const Lie *>(event->listen_id->context) : nullptr;
		Caller caller{event->id, event->param.conn.qp_num, {}};
		if (request && event->param.conn.private_data) {
			auto *p = static_cast<const std::byte *>(event->param.conn.private_data);
			caller.request.assign(p, p + event->param.conn.private_data_len);
		}
		rdma_ack_cm_event(event);
		if (request)
			on_request(*lie, caller);
	}
}

void Server::on_request(const Lie &lie, const Caller &caller)
{
	auto request = parse_connect_request({caller.request.data(), caller.request.size()});
	if (!request.ok()) {
		rdma_reject(caller.id, nullptr, 0);
		rdma_destroy_id(caller.id);
		return;
	}
	const ConnectRequestFields &r = request.value();
	// cid 0 begins an attempt; what is left of the one before goes.
	if (r.cid.is_service()) {
		std::erase_if(paths_, [&](auto &p) { return p->uuid() == r.path; });
		paths_.push_back(std::make_unique<Path>(lie, r));
	}
	for (auto &p : paths_)
		if (p->uuid() == r.path) {
			p->greet(caller, r);
			return;
		}
	rdma_reject(caller.id, nullptr, 0);
	rdma_destroy_id(caller.id);
}

void Server::drop_closed()
{
	std::erase_if(paths_, [](auto &p) { return p->closed(); });
	if (stain::take_found())
		complain("somebody", "memory of the client came that was not asked for");
}

} // namespace peer
