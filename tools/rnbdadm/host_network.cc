// SPDX-License-Identifier: GPL-2.0
// Ways and neighbours of this machine, from the kernel's routing (libnl-route-3).
#include "host.hh"
#include "netlink.hh"

#include <cerrno>

#include <arpa/inet.h>
#include <net/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/route.h>

namespace rnbdadm {

namespace {

struct AddrFree {
	void operator()(struct nl_addr *addr) const { nl_addr_put(addr); }
};
using Addr = std::unique_ptr<struct nl_addr, AddrFree>;

// A literal address, with or without the interface of a link-local one.
struct Literal {
	explicit Literal(const std::string &text)
	{
		const std::size_t percent = text.find('%');
		struct nl_addr *parsed = nullptr;
		if (!nl_addr_parse(text.substr(0, percent).c_str(), AF_UNSPEC, &parsed))
			addr.reset(parsed);
		if (percent != std::string::npos)
			netdev = text.substr(percent + 1);
	}
	bool ok() const
	{
		return addr && (nl_addr_get_family(addr.get()) == AF_INET ||
				nl_addr_get_family(addr.get()) == AF_INET6);
	}

	Addr addr;
	std::string netdev;
};

int put_address(struct nl_msg *message, int attribute, const Literal &literal)
{
	return nla_put(message, attribute, static_cast<int>(nl_addr_get_len(literal.addr.get())),
		       nl_addr_get_binary_addr(literal.addr.get()));
}

std::string text_of(struct nl_addr *addr)
{
	char text[INET6_ADDRSTRLEN + 8];
	return addr ? nl_addr2str(addr, text, sizeof(text)) : "";
}

std::string name_of(int index)
{
	char name[IF_NAMESIZE];
	return index > 0 && if_indextoname(static_cast<unsigned>(index), name) ? name : "";
}

void read_route(struct nlmsghdr *header, Route &route)
{
	struct rtnl_route *parsed = nullptr;
	if (header->nlmsg_type != RTM_NEWROUTE || rtnl_route_parse(header, &parsed))
		return;
	const std::unique_ptr<struct rtnl_route, decltype(&rtnl_route_put)> owner(parsed,
										  rtnl_route_put);
	// IPv6 answers with a route that leads nowhere.
	switch (rtnl_route_get_type(parsed)) {
	case RTN_UNREACHABLE:
	case RTN_BLACKHOLE:
		route.error = ENETUNREACH;
		return;
	case RTN_PROHIBIT:
		route.error = EACCES;
		return;
	default:
		break;
	}
	if (struct rtnl_nexthop *hop = rtnl_route_nexthop_n(parsed, 0)) {
		route.netdev = name_of(rtnl_route_nh_get_ifindex(hop));
		route.gateway = text_of(rtnl_route_nh_get_gateway(hop));
	}
	std::uint32_t mtu = 0;
	if (!rtnl_route_get_metric(parsed, RTAX_MTU, &mtu))
		route.mtu = mtu;
}

} // namespace

Route Host::route(const std::string &destination, const std::string &source) const
{
	const Literal to(destination), from(source);
	Route route;
	NlMessage message = netlink_message(RTM_GETROUTE, 0);
	if (!to.ok() || !message) {
		route.error = EINVAL;
		return route;
	}
	struct rtmsg body = {};
	body.rtm_family = static_cast<unsigned char>(nl_addr_get_family(to.addr.get()));
	body.rtm_dst_len = static_cast<unsigned char>(8 * nl_addr_get_len(to.addr.get()));
	const bool with_source = from.ok();
	if (with_source)
		body.rtm_src_len = static_cast<unsigned char>(8 * nl_addr_get_len(from.addr.get()));
	int error = nlmsg_append(message.get(), &body, sizeof(body), NLMSG_ALIGNTO);
	if (!error)
		error = put_address(message.get(), RTA_DST, to);
	if (!error && with_source)
		error = put_address(message.get(), RTA_SRC, from);
	if (!error && !to.netdev.empty())
		error = nla_put_u32(message.get(), RTA_OIF, if_nametoindex(to.netdev.c_str()));
	route.error =
	    error ? ENOMEM
		  : ask_netlink(NETLINK_ROUTE, message.get(),
				[&](struct nlmsghdr *header) { read_route(header, route); });
	return route;
}

std::string Host::neighbour(const std::string &netdev, const std::string &address) const
{
	const Literal wanted(address);
	const unsigned index = if_nametoindex(netdev.c_str());
	NlMessage message = netlink_message(RTM_GETNEIGH, NLM_F_DUMP);
	if (!wanted.ok() || !message)
		return "";
	struct ndmsg body = {};
	body.ndm_family = static_cast<unsigned char>(nl_addr_get_family(wanted.addr.get()));
	if (nlmsg_append(message.get(), &body, sizeof(body), NLMSG_ALIGNTO))
		return "";
	std::string state;
	ask_netlink(NETLINK_ROUTE, message.get(), [&](struct nlmsghdr *header) {
		struct rtnl_neigh *parsed = nullptr;
		if (header->nlmsg_type != RTM_NEWNEIGH || rtnl_neigh_parse(header, &parsed))
			return;
		const std::unique_ptr<struct rtnl_neigh, decltype(&rtnl_neigh_put)> owner(
		    parsed, rtnl_neigh_put);
		char text[64];
		if (static_cast<unsigned>(rtnl_neigh_get_ifindex(parsed)) == index &&
		    rtnl_neigh_get_dst(parsed) &&
		    !nl_addr_cmp(rtnl_neigh_get_dst(parsed), wanted.addr.get()))
			state =
			    rtnl_neigh_state2str(rtnl_neigh_get_state(parsed), text, sizeof(text));
	});
	return state;
}

} // namespace rnbdadm
