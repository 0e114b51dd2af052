// SPDX-License-Identifier: GPL-2.0
/* Routes and neighbours of IPv4 and IPv6. */
#include <net/dst.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <rtrs/server/neighbour.h>

/* None is made for a host that is not known: whoever names many would fill the table. */
static bool has_answered(struct net_device *dev, struct neigh_table *table, const void *address)
{
	struct neighbour *next;
	bool valid;

	if (dev->flags & (IFF_LOOPBACK | IFF_NOARP))
		return true;
	next = neigh_lookup(table, address, dev);
	if (!next)
		return false;
	valid = READ_ONCE(next->nud_state) & NUD_VALID;
	neigh_release(next);
	return valid;
}

static bool known_by_ipv4(struct net *net, int interface, __be32 from, __be32 to)
{
	struct flowi4 flow = {.flowi4_oif = interface, .saddr = from, .daddr = to};
	struct rtable *route = ip_route_output_key(net, &flow);
	bool known = false;
	__be32 next;

	if (IS_ERR(route))
		return false;
	next = rt_nexthop(route, to);
	if (route->rt_type == RTN_LOCAL)
		known = true;
	else if (route->rt_type == RTN_UNICAST)
		known = route->rt_gw_family == AF_INET6
			    ? has_answered(route->dst.dev, &nd_tbl, &route->rt_gw6)
			    : has_answered(route->dst.dev, &arp_tbl, &next);
	ip_rt_put(route);
	return known;
}

static bool known_by_ipv6(struct net *net, int interface, const struct in6_addr *from,
			  const struct in6_addr *to)
{
	struct flowi6 flow = {.flowi6_oif = interface, .saddr = *from, .daddr = *to};
	struct dst_entry *route = ip6_route_output(net, NULL, &flow);
	const bool known =
	    !route->error && !ipv6_addr_is_multicast(to) &&
	    has_answered(route->dev, &nd_tbl, rt6_nexthop((struct rt6_info *)route, to));

	dst_release(route);
	return known;
}

bool rtrs_neighbour_known(struct net *net, int interface, const u8 *from, const u8 *to)
{
	struct in6_addr source, target;

	memcpy(&source, from, sizeof(source));
	memcpy(&target, to, sizeof(target));
	if (!ipv6_addr_v4mapped(&target))
		return known_by_ipv6(net, interface, &source, &target);
	return known_by_ipv4(net, interface, source.s6_addr32[3], target.s6_addr32[3]);
}
