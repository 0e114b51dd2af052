// SPDX-License-Identifier: GPL-2.0
// A lie is what a server does wrong once, in an otherwise correct session: a change of one thing
// that it says or does, and what a client that trusts nothing makes of it.
#pragma once

#include "../proof.hh"

#include <functional>
#include <string>
#include <vector>

#include <rtrs/wire/immediate.hh>
#include <rtrs/wire/io_header.hh>
#include <rtrs/wire/private_data.hh>

namespace peer {

class Path;

// The I/O that response lies are about: whoever reads or writes here asks for it. All other I/O,
// such as the search for partitions, is served correctly.
constexpr uint64_t kLieSector = 2048;

constexpr rtrs::ConnectReplyFields kGeometry{
    .queue_depth = {16}, .max_io_size = {61440}, .max_header_size = {4096}, .new_rkey = false};

// What a client asks for.
enum class Kind {
	SessionInfo,
	Open,
	Close,
	Discover, // who lies about it has agreed on it in SESS_INFO
	Reserve,  // likewise
	Read,	  // at kLieSector
	Write,	  // at kLieSector
	Other,
};

struct Request {
	uint16_t con;
	rtrs::Slot slot;
	rtrs::IoHeader header;
	Kind kind;
	rtrs::RemoteBuffer answer() const { return header.descriptor; }
};

// Everything that is sent for one request, in this order.
struct Response {
	uint16_t con;
	rtrs::Slot slot;
	Bytes data; // RDMA write to
	uint64_t address = 0;
	uint32_t rkey = 0;
	std::vector<uint32_t> invalidated{}; // a SEND_WITH_INV for each of these keys
	uint32_t imm = 0;
	// What the SEND that carries the immediate contains; nothing: an RDMA write carries it.
	std::optional<Bytes> payload{};
	bool final = true; // whether an immediate is sent at all
	// In place of the last invalidation and of the immediate (protocol J.2).
	std::optional<Bytes> capsule{};

	void set(int error, bool promise);
};

// What a connect request is answered with.
struct Greeting {
	enum class Kind {
		Accept,
		Reject,
		Ignore,
		Disconnect, // no answer, and the path's other connections end
	} kind;
	Bytes data;
};

// What the server's code is made of (protocol J.3), as far as an honest server would.
struct Claim {
	Key key;
	Seen seen;
	Bytes info_request;
	Bytes info_response; // with its tail, whose code is still missing
};

// The hooks get what an honest server would say, and return what this one says.
struct Lie {
	std::string name;
	std::string row; // of Documentation/protocol.md
	// What has to come of it at the client:
	//	ok		map, a write and a read at kLieSector, and unmap work
	//	map:E[|E..]	map_device fails with this errno
	//	io		map works, the write or the read fails, unmap works
	//	stuck		I/O waits until the path is disconnected, however old it is
	//			("unmap": and a forced unmap with it)
	//	any		each step ends, whatever its result
	//	late:E[|E..]	map_device fails with this errno after a timeout of the client
	// A word behind "ok", "io" or "any" says what else is done, or "late-...", which step of it
	// takes as long as a timeout.
	std::string outcome;
	rtrs::ConnectReplyFields geometry = kGeometry;
	// `attempt` counts the connects of this path from 1.
	std::function<Greeting(uint16_t cid, unsigned attempt, rtrs::ConnectReply)> greet{};
	// The messages that answer INFO_REQ.
	std::function<std::vector<Bytes>(Path &, Bytes)> info{};
	// Right behind INFO_RSP.
	std::function<void(Path &)> established{};
	// Which responses are sent for a request of this kind.
	Kind about = Kind::Other;
	std::function<std::vector<Response>(Path &, const Request &, Response)> respond{};
	bool answers_heartbeats = true;
	// The client owes a CLOSE for what it did not accept.
	bool owes_close = false;

	// ---- proofs (protocol J.3)
	// What the client's user demands, as map_device has it; only lies about proofs say.
	std::string auth{};
	// Takes the client's offer up, and proves itself by this key.
	bool proves = false;
	Key key{};
	// Before the code is made of it.
	std::function<void(Path &, Claim &)> claim{};
	// The attempt of a path from which on the client may believe nothing; 0: it may.
	unsigned unproven_from = 0;
};

// All of them; the first one is none. Each has a port of its own, from this one on in order.
constexpr uint16_t kFirstLiePort = 2000;
// Those about proofs need a key that the client has, and are left out without.
std::vector<Lie> all_lies(const Key &key = {});

std::vector<Lie> handshake_lies();
std::vector<Lie> info_lies();
std::vector<Lie> response_lies();
std::vector<Lie> key_lies();
std::vector<Lie> capsule_lies();
std::vector<Lie> rnbd_lies();
std::vector<Lie> discover_lies();
std::vector<Lie> reserve_lies();
std::vector<Lie> silence_lies();
std::vector<Lie> proof_lies(const Key &key);

} // namespace peer
