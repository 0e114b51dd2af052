// SPDX-License-Identifier: GPL-2.0
// Listens on one port for each lie, and serves whatever connects there. One thread.
#pragma once

#include "path.hh"

namespace peer {

class Server {
public:
	// Lie number i of `lies`, which stay where they are, is told on port first_port + i.
	Server(const std::vector<Lie> &lies, uint16_t first_port);
	~Server();
	Server(const Server &) = delete;
	Server &operator=(const Server &) = delete;

	// Until *stop.
	void run(const volatile bool *stop);

private:
	void listen(const Lie &lie, uint16_t port);
	void accept_all();
	void on_request(const Lie &lie, const Caller &caller);
	void drop_closed();

	rdma_event_channel *channel_;
	std::vector<rdma_cm_id *> listeners_;
	std::vector<std::unique_ptr<Path>> paths_;
};

} // namespace peer
