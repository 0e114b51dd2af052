// SPDX-License-Identifier: GPL-2.0
// Lies about the new key of a chunk (protocol A.4 RKEY_RSP).
#include "../client.hh"
#include "path.hh"

#include <rtrs/wire/rkey.hh>

namespace peer {

using namespace rtrs;

namespace {

// A write is answered with this message in place of RKEY_RSP.
Lie key(std::string name, std::string outcome, std::function<void(Response &)> change,
	bool announced = true)
{
	Lie l{.name = "key-" + name, .row = "A.4 RKEY_RSP", .outcome = std::move(outcome)};
	l.geometry.new_rkey = announced;
	l.about = Kind::Write;
	l.respond = [change](Path &, const Request &, Response r) {
		change(r);
		return std::vector<Response>{r};
	};
	return l;
}

Bytes message(uint16_t type, uint16_t slot, uint32_t rkey)
{
	RkeyResponse m{};
	m.type = type;
	m.buf_id = slot;
	m.rkey = rkey;
	return bytes_of(m);
}

} // namespace

std::vector<Lie> key_lies()
{
	std::vector<Lie> all{
	    key("short", "io", [](Response &r) { r.payload->resize(7); }),
	    key("empty", "io", [](Response &r) { r.payload->clear(); }),
	    key("long", "io", [](Response &r) { r.payload->resize(16); }),
	    key("type", "io", [](Response &r) { (*r.payload)[0] = std::byte{3}; }),
	    key("slot", "io", [](Response &r) { (*r.payload)[2] ^= std::byte{1}; }),
	    key("slot-beyond", "io", [](Response &r) { (*r.payload)[3] = std::byte{0xff}; }),
	    // Without a new one the old key stays; here it is renewed, so the next use is refused.
	    key("missing", "any", [](Response &r) { r.payload.reset(); }),
	    key("false", "any",
		[](Response &r) {
			r.payload = message(4, static_cast<uint16_t>(r.slot.value), 0x12345600);
		}),
	    key(
		"not-announced", "io",
		[](Response &r) {
			r.payload = message(4, static_cast<uint16_t>(r.slot.value), 0x1234);
		},
		false),
	};
	// A key for a slot that waits for nothing; the right answer comes behind it.
	Lie idle = key("of-idle-slot", "ok", [](Response &) {});
	idle.respond = [](Path &, const Request &, const Response &honest) {
		Response r = honest;
		r.slot.value = (r.slot.value + 1) % kGeometry.queue_depth.value;
		r.payload = message(4, static_cast<uint16_t>(r.slot.value), 0x1234);
		r.set(0, false);
		return std::vector<Response>{r, honest};
	};
	all.push_back(idle);
	return all;
}

} // namespace peer
