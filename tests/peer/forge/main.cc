// SPDX-License-Identifier: GPL-2.0
// rtrs-forge: asks a server for paths in the name of other hosts, and never reads an answer
// (protocol J.3, rule 5).
//
//	rtrs-forge --server ADDRESS --from ADDRESS [--says ADDRESS]... [--port N] [--plain]
//		   [--connections N] [--make N] [--rate N] [--count N]
//
// Sends requests as packets that are made by hand, from --from, an address of this machine: so no
// RDMA device is needed, and none of this machine notices. Each path is announced with so many
// --connections, of which the first --make are asked for (1), and says that it comes from the next
// --says address. It offers a proof, or is --plain. At most --rate requests a second, for --count
// paths or until SIGTERM. Prints "paths N requests N" at the end.
#include "request.hh"

#include "../client.hh"

#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <getopt.h>
#include <random>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace peer;

namespace {

volatile std::sig_atomic_t stopped = 0;

struct Plan {
	in_addr server{}, from{};
	std::vector<in_addr> says;
	uint16_t port = 1234;
	bool plain = false;
	uint16_t connections = 2;
	uint16_t make = 1;
	unsigned rate = 50;
	unsigned count = 0;
};

in_addr address(const char *text)
{
	in_addr a{};
	if (inet_pton(AF_INET, text, &a) != 1)
		throw LocalError(std::string("no IPv4 address: ") + text);
	return a;
}

class RawSocket {
public:
	RawSocket() : fd_(socket(AF_INET, SOCK_RAW, IPPROTO_RAW))
	{
		if (fd_ < 0)
			throw LocalError(std::string("socket: ") + std::strerror(errno));
	}
	RawSocket(const RawSocket &) = delete;
	RawSocket &operator=(const RawSocket &) = delete;
	~RawSocket() { close(fd_); }

	void send(in_addr to, const Bytes &packet)
	{
		sockaddr_in address{};
		address.sin_family = AF_INET;
		address.sin_addr = to;
		if (sendto(fd_, packet.data(), packet.size(), 0,
			   reinterpret_cast<sockaddr *>(&address), sizeof(address)) < 0)
			throw LocalError(std::string("sendto: ") + std::strerror(errno));
	}

private:
	int fd_;
};

void forge(const Plan &plan)
{
	RawSocket out;
	uint32_t number = std::random_device{}();
	unsigned paths = 0, requests = 0;
	const auto pause = std::chrono::microseconds(1000000 / plan.rate);
	auto next = Clock::now();
	while (!stopped && (!plan.count || paths < plan.count)) {
		rtrs::ConnectRequestFields fields{.cid = {0},
						  .connection_count = plan.connections,
						  .reconnect_count = 1,
						  .path = random_uuid(),
						  .session = random_uuid(),
						  .first_connection = true,
						  .authentication = !plan.plain,
						  .algorithms = rtrs::kKnownAlgorithms};
		const in_addr says =
		    plan.says.empty() ? plan.from : plan.says[paths % plan.says.size()];
		paths++;
		for (uint16_t cid = 0; cid < plan.make && !stopped; cid++, requests++) {
			// What was not kept up with is not made up for.
			next = std::max(next + pause, Clock::now() - pause);
			std::this_thread::sleep_until(next);
			fields.cid = {cid};
			out.send(plan.server,
				 packet_of({.from = plan.from,
					    .to = plan.server,
					    .says = says,
					    .port = plan.port,
					    .number = ++number,
					    .message = rtrs::make_connect_request(fields)}));
		}
	}
	std::printf("paths %u requests %u\n", paths, requests);
}

bool parse(int argc, char **argv, Plan &plan)
{
	const option options[] = {{"server", required_argument, nullptr, 's'},
				  {"from", required_argument, nullptr, 'f'},
				  {"says", required_argument, nullptr, 'y'},
				  {"port", required_argument, nullptr, 'p'},
				  {"plain", no_argument, nullptr, 'n'},
				  {"connections", required_argument, nullptr, 'c'},
				  {"make", required_argument, nullptr, 'm'},
				  {"rate", required_argument, nullptr, 'r'},
				  {"count", required_argument, nullptr, 'o'},
				  {}};
	for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
		if (o == 's')
			plan.server = address(optarg);
		else if (o == 'f')
			plan.from = address(optarg);
		else if (o == 'y')
			plan.says.push_back(address(optarg));
		else if (o == 'p')
			plan.port = static_cast<uint16_t>(std::stoul(optarg));
		else if (o == 'n')
			plan.plain = true;
		else if (o == 'c')
			plan.connections = static_cast<uint16_t>(std::stoul(optarg));
		else if (o == 'm')
			plan.make = static_cast<uint16_t>(std::stoul(optarg));
		else if (o == 'r')
			plan.rate = static_cast<unsigned>(std::stoul(optarg));
		else if (o == 'o')
			plan.count = static_cast<unsigned>(std::stoul(optarg));
		else
			return false;
	}
	return plan.server.s_addr && plan.from.s_addr && plan.rate && plan.make &&
	       plan.make <= plan.connections;
}

} // namespace

int main(int argc, char **argv)
{
	std::signal(SIGTERM, [](int) { stopped = 1; });
	try {
		Plan plan;
		if (!parse(argc, argv, plan))
			return 2;
		forge(plan);
		return 0;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "rtrs-forge: %s\n", e.what());
		return 2;
	}
}
