// SPDX-License-Identifier: GPL-2.0
// rtrs-wire: what a machine sends over a cable, and whether a text is in it.
//
//	rtrs-wire NETDEV TEXT [TOS]	counts frames until SIGTERM
//
// Prints "ready" when it watches, and at the end "roce N esp N macsec N ike N other N neighbours N
// text N lost N": UDP to the port of RoCE, ESP, MACsec, what daemons of IPsec say to each other,
// other frames, ARP with the neighbour discovery of IPv6, those with the text in them, and those
// that it missed. Other multicast, which a machine sends to anybody, is not counted. What comes is
// not either: it may be decrypted already when it is looked at. With a type of service also
// "marked N unmarked N": what connections sent by RoCE with it, and without.
#include "../capture.hh"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

namespace {

volatile bool stop = false;

constexpr uint16_t kRocePort = 4791;
constexpr uint16_t kIkePort = 500;
constexpr int kNone = -1;

// Nobody here sends options.
struct IpLayout {
	size_t protocol;
	size_t end;
};
constexpr IpLayout kIp4{ETH_HLEN + 9, ETH_HLEN + 20};
constexpr IpLayout kIp6{ETH_HLEN + 6, ETH_HLEN + 40};

enum Kind { Roce, Esp, MacSec, Ike, Other, Neighbours, Kinds, Ignored };

uint16_t number(std::span<const char> frame, size_t at)
{
	uint16_t n;
	std::memcpy(&n, frame.data() + at, sizeof(n));
	return ntohs(n);
}

const IpLayout &layout_of(std::span<const char> frame)
{
	return number(frame, 2 * ETH_ALEN) == ETH_P_IPV6 ? kIp6 : kIp4;
}

// Some of it comes from addresses of the link, whatever it asks for (RFC 4861).
bool discovery(char type)
{
	const auto t = static_cast<unsigned char>(type);
	return t >= 133 && t <= 137;
}

Kind kind_of(std::span<const char> frame)
{
	const uint16_t type = number(frame, 2 * ETH_ALEN);
	if (type == ETH_P_ARP)
		return Neighbours;
	if (type == ETH_P_MACSEC)
		return MacSec;
	if (frame[0] & 1)
		return Ignored;
	const IpLayout &ip = layout_of(frame);
	if ((type != ETH_P_IP && type != ETH_P_IPV6) || frame.size() < ip.end + sizeof(udphdr))
		return Other;
	const auto protocol = static_cast<unsigned char>(frame[ip.protocol]);
	if (protocol == IPPROTO_ESP)
		return Esp;
	if (type == ETH_P_IPV6 && protocol == IPPROTO_ICMPV6)
		return discovery(frame[ip.end]) ? Neighbours : Other;
	if (protocol != IPPROTO_UDP)
		return Other;
	const uint16_t port = number(frame, ip.end + 2);
	return port == kRocePort ? Roce : port == kIkePort ? Ike : Other;
}

// Of IPv6 the traffic class, which begins in the middle of a byte.
int type_of_service(std::span<const char> frame)
{
	if (&layout_of(frame) == &kIp6)
		return number(frame, ETH_HLEN) >> 4 & 0xff;
	return static_cast<unsigned char>(frame[ETH_HLEN + 1]);
}

// Connection managers speak by queue pair 1.
bool of_connection(std::span<const char> frame)
{
	const size_t bth = layout_of(frame).end + sizeof(udphdr);
	return frame.size() >= bth + 12 && number(frame, bth + 6) != 1;
}

void watch(const char *netdev, const char *text, int tos)
{
	peer::Capture cable(netdev);
	std::puts("ready");
	std::fflush(stdout);
	std::array<unsigned, Kinds> count{};
	unsigned with_text = 0;
	unsigned marked = 0;
	unsigned unmarked = 0;
	while (!stop) {
		const auto frame = cable.next(std::chrono::milliseconds(100));
		if (frame.size() < ETH_HLEN || !cable.outgoing())
			continue;
		const Kind k = kind_of(frame);
		if (k != Ignored)
			count[k]++;
		if (k == Roce && of_connection(frame))
			(type_of_service(frame) == tos ? marked : unmarked)++;
		with_text += memmem(frame.data(), frame.size(), text, std::strlen(text)) != nullptr;
	}
	std::printf("roce %u esp %u macsec %u ike %u other %u neighbours %u text %u lost %u",
		    count[Roce], count[Esp], count[MacSec], count[Ike], count[Other],
		    count[Neighbours], with_text, cable.lost());
	if (tos != kNone)
		std::printf(" marked %u unmarked %u", marked, unmarked);
	std::puts("");
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4)
		return 2;
	std::signal(SIGTERM, [](int) { stop = true; });
	try {
		watch(argv[1], argv[2], argc == 4 ? std::atoi(argv[3]) : kNone);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "rtrs-wire: %s\n", e.what());
		return 2;
	}
	return 0;
}
