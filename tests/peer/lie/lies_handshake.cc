// SPDX-License-Identifier: GPL-2.0
// Lies in REP and REJ (protocol A.3, G.2, G.3-18, G.3-22).
#include <cstring>

#include "../client.hh"
#include "path.hh"

namespace peer {

using namespace rtrs;

namespace {

using Change = std::function<void(ConnectReply &)>;
using Kind = Greeting::Kind;

// One field of REP is wrong, on connection `liar`, or on all.
Lie reply(std::string name, std::string outcome, Change change, int liar = -1)
{
	Lie l{.name = "rep-" + name, .row = "A.3 REP", .outcome = std::move(outcome)};
	l.greet = [change, liar](uint16_t cid, unsigned, ConnectReply r) {
		if (liar < 0 || liar == cid)
			change(r);
		return Greeting{Kind::Accept, bytes_of(r)};
	};
	return l;
}

// A geometry that is unusual and right: the rest of the session keeps to it.
Lie geometry(std::string name, std::string outcome, ConnectReplyFields g)
{
	return {
	    .name = "rep-" + name, .row = "G.3-22", .outcome = std::move(outcome), .geometry = g};
}

Lie reply_of_size(std::string name, std::string outcome, size_t size, std::byte padding)
{
	Lie l{.name = "rep-" + name, .row = "A.3 REP length", .outcome = std::move(outcome)};
	l.greet = [size, padding](uint16_t, unsigned, ConnectReply r) {
		Bytes b = bytes_of(r);
		b.resize(size, padding);
		return Greeting{Kind::Accept, b};
	};
	return l;
}

Lie reject(std::string name, std::string outcome, uint16_t liar, Bytes message)
{
	Lie l{.name = "rej-" + name, .row = "A.3 REJ, G.3-18", .outcome = std::move(outcome)};
	l.greet = [liar, message](uint16_t cid, unsigned, ConnectReply r) {
		if (cid == liar)
			return Greeting{Kind::Reject, message};
		return Greeting{Kind::Accept, bytes_of(r)};
	};
	return l;
}

Bytes reject_with(uint16_t code, uint16_t magic = kMagic)
{
	ConnectReply r = make_reject(err::econnreset);
	r.error = code;
	r.magic = magic;
	return bytes_of(r);
}

// What the client was told when it connected first is not true any more when it comes back.
Lie reconnect(std::string name, Change change)
{
	Lie l{.name = "reconnect-" + name,
	      .row = "G.1-33, G.3-15",
	      .outcome = "ok reconnect-refused"};
	l.greet = [change](uint16_t, unsigned attempt, ConnectReply r) {
		if (attempt > 1)
			change(r);
		return Greeting{Kind::Accept, bytes_of(r)};
	};
	return l;
}

} // namespace

std::vector<Lie> handshake_lies()
{
	const std::string kReset = "map:ECONNRESET", kInvalid = "map:EINVAL";
	ConnectReplyFields keys = kGeometry, deep = kGeometry, tight = kGeometry;
	keys.new_rkey = true;
	deep.queue_depth = {2};
	tight.max_header_size = {kMinHeaderSize};
	return {
	    {.name = "honest", .row = "-", .outcome = "ok"},
	    geometry("honest-keys", "ok", keys),
	    geometry("depth-2", "ok", deep),
	    geometry("header-512", "ok", tight),
	    reply("magic", kReset, [](auto &r) { r.magic = 0xbd1b; }),
	    reply(
		"magic-con-1", kReset, [](auto &r) { r.magic = 0; }, 1),
	    reply("major-1", kReset, [](auto &r) { r.version = 0x0100; }),
	    reply("major-3", kReset, [](auto &r) { r.version = 0x0300; }),
	    reply("minor-255", "ok", [](auto &r) { r.version = 0x02ff; }),
	    reply("errno-1", kReset, [](auto &r) { r.error = 1; }),
	    reply("errno-negative", kReset, [](auto &r) { r.error = 0xff98; }),
	    reply("depth-0", kInvalid, [](auto &r) { r.queue_depth = 0; }),
	    reply("depth-1", kInvalid, [](auto &r) { r.queue_depth = 1; }),
	    reply("depth-65535", kInvalid, [](auto &r) { r.queue_depth = 65535; }),
	    reply("depth-29-bits", kInvalid, [](auto &r) { r.queue_depth = 8192; }),
	    reply("io-0", kInvalid, [](auto &r) { r.max_io_size = 0; }),
	    reply("io-4095", kInvalid, [](auto &r) { r.max_io_size = 4095; }),
	    reply("io-overflow", kInvalid, [](auto &r) { r.max_io_size = 0xffffffff; }),
	    reply("io-2g", kInvalid, [](auto &r) { r.max_io_size = 0x80000000; }),
	    reply("header-0", kInvalid, [](auto &r) { r.max_hdr_size = 0; }),
	    reply("header-511", kInvalid, [](auto &r) { r.max_hdr_size = 511; }),
	    reply("header-overflow", kInvalid, [](auto &r) { r.max_hdr_size = 0xffffffff; }),
	    reply("nonce-unasked", "ok",
		  [](auto &r) { std::memset(&r.nonce, 0xff, sizeof(r.nonce)); }),
	    reply("flags-unknown", "ok", [](auto &r) { r.flags = 0xfffffffd; }),
	    reply("fences-unknown", "ok", [](auto &r) { r.features = 0xffffffe6; }),
	    reply("proof-unasked", "map:EPROTO", [](auto &r) { r.features = 1 << 3; }),
	    reply("proof-unknown", kInvalid, [](auto &r) { r.features = 1 << 3 | 1 << 8; }),
	    reply("serial-0", kInvalid, [](auto &r) { r.features = 1; }),
	    reply("serial-29-bits", kInvalid,
		  [](auto &r) {
			  r.features = 1;
			  r.path_serial = 1u << 28;
		  }),
	    // J.5: the service connection and one more, and no more than were asked for.
	    reply("connections-0", kInvalid, [](auto &r) { r.features = 1 << 4; }),
	    reply("connections-1", kInvalid, [](auto &r) { r.features = 1 << 4 | 1 << 16; }),
	    reply("connections-2", "ok", [](auto &r) { r.features = 1 << 4 | 2 << 16; }),
	    reply("connections-4096", kInvalid, [](auto &r) { r.features = 1 << 4 | 4096u << 16; }),
	    reply("connections-65535", kInvalid,
		  [](auto &r) { r.features = 1 << 4 | 0xffffu << 16; }),
	    // Only cid 0 decides.
	    reply(
		"geometry-con-1", "ok",
		[](auto &r) {
			r.queue_depth = 65535;
			r.max_io_size = 0xffffffff;
			r.flags = 0xffffffff;
			r.features = 1 << 4 | 0xffffu << 16;
		},
		1),
	    reply_of_size("empty", kReset, 0, std::byte{0}),
	    reply_of_size("short", kInvalid, 10, std::byte{0}),
	    reply_of_size("long", "ok", 196, std::byte{0xff}),
	    reject("empty", kReset, 0, {}),
	    reject("short", kReset, 0, Bytes(7, std::byte{0xff})),
	    reject("magic", kReset, 0, reject_with(0xffef, 0x1234)),
	    reject("errno-0", kReset, 0, reject_with(0)),
	    reject("errno-1", kReset, 0, reject_with(1)),
	    reject("errno-32767", kReset, 0, reject_with(32767)),
	    reject("errno-min", kReset, 0, reject_with(0x8000)),
	    reject("errno-4096", kReset, 0, reject_with(static_cast<uint16_t>(-4096))),
	    reject("errno-4095", kReset, 0, reject_with(static_cast<uint16_t>(-4095))),
	    // Errors that only the kernel knows mean something to who gets them from a system call:
	    // 512 a call to be restarted, 529 a request that goes on, which is a BUG() in a write.
	    reject("errno-512", kReset, 0, reject_with(static_cast<uint16_t>(-512))),
	    reject("errno-529", kReset, 0, reject_with(static_cast<uint16_t>(-529))),
	    reject("eexist", "map:EEXIST", 0, reject_with(static_cast<uint16_t>(-17))),
	    reject("enxio-con-1", "map:ENXIO", 1, reject_with(static_cast<uint16_t>(-6))),
	    reconnect("depth", [](auto &r) { r.queue_depth = 32; }),
	    reconnect("depth-smaller", [](auto &r) { r.queue_depth = 8; }),
	    reconnect("io", [](auto &r) { r.max_io_size = 4096; }),
	    reconnect("header", [](auto &r) { r.max_hdr_size = 512; }),
	};
}

} // namespace peer
