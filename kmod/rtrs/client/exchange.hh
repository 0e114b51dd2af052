// SPDX-License-Identifier: GPL-2.0
// What the client has of the proof of one attempt of a path (protocol J.3).
//
// Owner: the attempt, which alone reads and writes it. No secret is in it.
#pragma once

#include <cxxrt/secret.hh>
#include <rtrs/pure/auth_exchange.hh>
#include <rtrs/pure/auth_policy.hh>
#include <rtrs/pure/auth_proof.hh>
#include <rtrs/pure/key_description.hh>

namespace rtrs::client {

// What a session proves, and what it wants of its server.
struct SessionAuth {
	AuthPolicy policy = AuthPolicy::Optional;
	bool has_key = false;
	KeyName key = KeyName::none();
};

struct Exchange {
	explicit Exchange(const KeyId &which) : id(which) {}
	Exchange(const Exchange &) = delete;
	Exchange &operator=(const Exchange &) = delete;
	~Exchange() { cxxrt::wipe(of_client.bytes, sizeof(of_client.bytes)); }

	ClientAuth state = ClientAuth::Undecided;
	const KeyId id;
	ClientNonce nonce = {};
	ConnectRequest request = {}; // REQ of cid 0
	Mac of_client = {};

	// False if that is the end of it.
	bool go(ClientAuthEvent event)
	{
		state = after(state, event);
		return state != ClientAuth::Refused;
	}
};

} // namespace rtrs::client
