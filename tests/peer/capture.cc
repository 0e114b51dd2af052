// SPDX-License-Identifier: GPL-2.0
#include "capture.hh"

#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace peer {

namespace {

constexpr int kRoom = 8 << 20;
constexpr size_t kLargest = 65536;

} // namespace

Capture::Capture(const char *netdev)
    : fd_(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL))), frame_(kLargest)
{
	sockaddr_ll address{};
	address.sll_family = AF_PACKET;
	address.sll_protocol = htons(ETH_P_ALL);
	address.sll_ifindex = static_cast<int>(if_nametoindex(netdev));
	if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) ||
	    setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &kRoom, sizeof(kRoom)))
		throw std::system_error(errno, std::generic_category(), netdev);
}

Capture::~Capture()
{
	close(fd_);
}

std::span<const char> Capture::next(std::chrono::milliseconds timeout)
{
	pollfd p{fd_, POLLIN, 0};
	if (poll(&p, 1, static_cast<int>(timeout.count())) <= 0)
		return {};
	sockaddr_ll from{};
	socklen_t size = sizeof(from);
	const ssize_t n = recvfrom(fd_, frame_.data(), frame_.size(), 0,
				   reinterpret_cast<sockaddr *>(&from), &size);
	outgoing_ = from.sll_pkttype == PACKET_OUTGOING;
	return {frame_.data(), n > 0 ? static_cast<size_t>(n) : 0};
}

unsigned Capture::lost()
{
	tpacket_stats stats{};
	socklen_t size = sizeof(stats);
	if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &size))
		throw std::system_error(errno, std::generic_category(), "PACKET_STATISTICS");
	return stats.tp_drops;
}

} // namespace peer
