// SPDX-License-Identifier: GPL-2.0
// What the server has of the proof of one attempt of a path (protocol J.3).
//
// Owner: the path, from its creation until it is CONNECTED, or to its end. Written by connection
// requests, under the path's lock for these; read by the work item of INFO, which comes when all
// connections are there. No secret is in it.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/secret.hh>
#include <rtrs/pure/auth_exchange.hh>
#include <rtrs/pure/auth_proof.hh>
#include <rtrs/pure/failure_limit.hh>
#include <rtrs/wire/private_data.hh>

namespace rtrs::server {

// How often a path checks that policy, its key, and its key's list of names still admit it.
constexpr unsigned long kRevalidateInterval = HZ;

// What an attempt does with the session whose instance the server's REP has named: begin it, or
// join it. An instance begins once. An attempt that joins therefore never begins it, even if the
// session that another attempt of the same REP has begun has ended meanwhile.
enum class SessionLife : u8 {
	MayBegin,
	Begins, // the client has proven itself, and this attempt begins the session next
	Joins,	// the session lives, or another attempt begins it
};

struct Exchange {
	ServerAuth state = ServerAuth::Undecided;
	FailureLimit<>::Address from = {}; // as far as it is known where the client is
	bool stranger = false;		   // nobody there has proven anything of late
	ServerNonce nonce = {};
	SessionLife life = SessionLife::MayBegin; // under the lock of those who apply
	u8 request[kPrivateDataSize] = {};	  // REQ and REP of cid 0
	ConnectReply reply = {};
	Mac of_client = {};	 // when it was right
	bool challenged = false; // REP of cid 0 was sent, or is about to be; under the path's lock

	~Exchange() { cxxrt::wipe(of_client.bytes, sizeof(of_client.bytes)); }

	// False if that is the end of it.
	bool go(ServerAuthEvent event)
	{
		WRITE_ONCE(state, after(state, event));
		return state != ServerAuth::Refused;
	}
};

} // namespace rtrs::server
