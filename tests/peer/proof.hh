// SPDX-License-Identifier: GPL-2.0
// Proofs of either side (protocol J.3), each piece of which an attack or a lie can make wrong.
#pragma once

#include "client.hh"

#include <rtrs/pure/auth_proof.hh>
#include <rtrs/pure/key_description.hh>

namespace peer {

// What goes into the codes; as both sides saw it, unless an attack changes it.
struct Seen {
	Bytes request; // REQ and REP of cid 0
	Bytes reply;
	std::vector<rtrs::QueuePairNumbers> numbers;
	rtrs::AuthEndpoint client;
	rtrs::AuthEndpoint server;
};

// NAME:GENERATION:SECRET, the secret in hexadecimal digits. Throws what the library does for text
// that is none.
Key parse_key(const std::string &text);

rtrs::AuthEndpoint endpoint_of(const sockaddr &address);

// Of a client whose connections are all there, and have all been accepted.
Seen seen_by(Client &client);

// INFO_REQ with its tail and the right code over these.
Bytes proven_info(Client &client, const std::string &session, const Key &key, const Seen &seen);

// What the client's code in this INFO_REQ should be.
rtrs::Mac client_code(const Key &key, const Seen &seen, const Bytes &info_request);

// What the server's code in this INFO_RSP should be.
rtrs::Mac server_code(const Key &key, const Seen &seen, const Bytes &info_request,
		      const Bytes &info_response);

} // namespace peer
