// SPDX-License-Identifier: GPL-2.0
// rtrs-wire: what a machine sends over a cable, and whether a text is in it.
//
//	rtrs-wire NETDEV TEXT		counts frames until SIGTERM
//
// Prints "ready" when it watches, and at the end "roce N esp N other N arp N text N lost N": UDP to
// the port of RoCE, ESP, other frames of IPv4 or IPv6, ARP, those with the text in them, and those
// that it missed. Multicast, which a machine sends to anybody, is not counted. What comes is not
// either: it may be decrypted already when it is looked at.
#include "../capture.hh"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

namespace {

volatile bool stop = false;

constexpr uint16_t kRocePort = 4791;
constexpr size_t kBehindIp4 = ETH_HLEN + 20; // nobody here sends options

enum Kind { Roce, Esp, Other, Arp, Kinds, Ignored };

uint16_t number(std::span<const char> frame, size_t at)
{
	uint16_t n;
	std::memcpy(&n, frame.data() + at, sizeof(n));
	return ntohs(n);
}

Kind kind_of(std::span<const char> frame)
{
	const uint16_t type = number(frame, 2 * ETH_ALEN);
	if (type == ETH_P_ARP)
		return Arp;
	if (frame[0] & 1)
		return Ignored;
	if (type != ETH_P_IP || frame.size() < kBehindIp4 + sizeof(udphdr))
		return Other;
	const auto protocol = static_cast<unsigned char>(frame[ETH_HLEN + 9]);
	if (protocol == IPPROTO_ESP)
		return Esp;
	return protocol == IPPROTO_UDP && number(frame, kBehindIp4 + 2) == kRocePort ? Roce : Other;
}

void watch(const char *netdev, const char *text)
{
	peer::Capture cable(netdev);
	std::puts("ready");
	std::fflush(stdout);
	std::array<unsigned, Kinds> count{};
	unsigned with_text = 0;
	while (!stop) {
		const auto frame = cable.next(std::chrono::milliseconds(100));
		if (frame.size() < ETH_HLEN || !cable.outgoing())
			continue;
		if (const Kind k = kind_of(frame); k != Ignored)
			count[k]++;
		with_text += memmem(frame.data(), frame.size(), text, std::strlen(text)) != nullptr;
	}
	std::printf("roce %u esp %u other %u arp %u text %u lost %u\n", count[Roce], count[Esp],
		    count[Other], count[Arp], with_text, cable.lost());
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	std::signal(SIGTERM, [](int) { stop = true; });
	try {
		watch(argv[1], argv[2]);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "rtrs-wire: %s\n", e.what());
		return 2;
	}
	return 0;
}
