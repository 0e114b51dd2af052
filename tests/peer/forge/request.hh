// SPDX-License-Identifier: GPL-2.0
// A connection request (REQ of InfiniBand's connection manager) as bytes of an IPv4 packet of RoCE
// v2, in which each field is the sender's own word.
#pragma once

#include "../verbs.hh"

#include <rtrs/wire/private_data.hh>

#include <netinet/in.h>

namespace peer {

struct ForgedRequest {
	in_addr from; // the packet's own source
	in_addr to;
	in_addr says; // whose GID the request names; answers go there
	uint16_t port = 1234;
	uint32_t number; // of the attempt; another one for each
	rtrs::ConnectRequest message;
};

// The whole packet, its header included.
Bytes packet_of(const ForgedRequest &request);

} // namespace peer
