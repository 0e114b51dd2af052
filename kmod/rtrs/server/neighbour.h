/* SPDX-License-Identifier: GPL-2.0 */
/* What the network layer knows of a host; C, for its headers. */
#ifndef RTRS_SERVER_NEIGHBOUR_H
#define RTRS_SERVER_NEIGHBOUR_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct net;

/*
 * Whether a packet between these GIDs of RoCE v2, which are IP addresses, would go out at once
 * through that interface: there is a route, and its next hop has answered for its link address.
 * Neither asks nor waits. Process context.
 */
bool rtrs_neighbour_known(struct net *net, int interface, const u8 *from, const u8 *to);

#ifdef __cplusplus
}
#endif
#endif
