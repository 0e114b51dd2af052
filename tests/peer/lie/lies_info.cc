// SPDX-License-Identifier: GPL-2.0
// Lies in INFO_RSP (protocol A.4), and what may follow it.
#include "../client.hh"
#include "path.hh"

#include <cstring>

#include <rtrs/wire/descriptor.hh>
#include <rtrs/wire/info.hh>

namespace peer {

using namespace rtrs;

namespace {

Lie info(std::string name, std::string outcome, std::function<void(Bytes &)> change)
{
	Lie l{.name = "info-" + name, .row = "A.4 INFO_RSP", .outcome = std::move(outcome)};
	l.info = [change](Path &, Bytes m) {
		change(m);
		return std::vector<Bytes>{m};
	};
	return l;
}

Lie header(std::string name, std::function<void(InfoResponse &)> change,
	   std::string outcome = "map:EMSGSIZE|EINVAL|EPROTO")
{
	return info(std::move(name), std::move(outcome), [change](Bytes &m) {
		InfoResponse h;
		std::memcpy(&h, m.data(), sizeof(h));
		change(h);
		std::memcpy(m.data(), &h, sizeof(h));
	});
}

// Descriptor `i` is changed.
Lie descriptor(std::string name, uint32_t i, std::function<void(Descriptor &)> change,
	       std::string outcome = "map:EINVAL")
{
	return info(std::move(name), std::move(outcome), [i, change](Bytes &m) {
		Descriptor d;
		std::memcpy(&d, m.data() + info_response_size(i), sizeof(d));
		change(d);
		std::memcpy(m.data() + info_response_size(i), &d, sizeof(d));
	});
}

// A list of `n` descriptors of equal length, all of the first chunk.
Lie list_of(std::string name, uint32_t n, uint32_t len, std::string outcome)
{
	return info(std::move(name), std::move(outcome), [n, len](Bytes &m) {
		Descriptor d;
		std::memcpy(&d, m.data() + info_response_size(0), sizeof(d));
		d.len = len;
		m = bytes_of(make_info_response(n));
		for (uint32_t i = 0; i < n; i++) {
			const Bytes b = bytes_of(d);
			m.insert(m.end(), b.begin(), b.end());
		}
	});
}

Lie followed_by(std::string name, std::string outcome, std::function<void(Path &)> what)
{
	return {.name = "stray-" + name,
		.row = "G.3-24, A.6",
		.outcome = std::move(outcome),
		.established = std::move(what)};
}

ConnectReplyFields with_keys()
{
	ConnectReplyFields g = kGeometry;
	g.new_rkey = true;
	return g;
}

} // namespace

std::vector<Lie> info_lies()
{
	const u32 depth = kGeometry.queue_depth.value;
	const u32 chunk = kGeometry.chunk_size().value;
	const std::string kBroken = "map:ECONNRESET|ECONNABORTED";
	std::vector<Lie> all{
	    header("type", [](auto &h) { h.type = 4; }),
	    header("count-0", [](auto &h) { h.sg_cnt = 0; }),
	    header("count-1", [](auto &h) { h.sg_cnt = 1; }),
	    header("count-17", [](auto &h) { h.sg_cnt = 17; }),
	    header("count-65535", [](auto &h) { h.sg_cnt = 65535; }),
	    header(
		"reserved-set", [](auto &h) { std::memset(h.reserved, 0xff, 4); }, "ok"),
	    // A list that is right and short: the client needs as many as it has slots.
	    list_of("none", 0, chunk, "map:EINVAL"),
	    list_of("half", depth / 2, chunk, "map:EINVAL"),
	    list_of("no-divisor", 3, chunk, "map:EINVAL"),
	    // One key for all, which is what n = 1 means. I/O stays within the first chunks.
	    list_of("one-for-all", 1, chunk * depth, "any"),
	    list_of("sum-large", depth, chunk * 2, "map:EINVAL"),
	    list_of("sum-wraps", depth, 0xffff0000, "map:EINVAL"),
	    descriptor("len-0", 3, [](auto &d) { d.len = 0; }),
	    descriptor("len-odd", 3, [chunk](auto &d) { d.len = chunk + 1; }),
	    descriptor("len-huge", 3, [](auto &d) { d.len = 0xffff0000; }),
	    descriptor("address-wraps", 15, [](auto &d) { d.addr = ~u64{0} - 4096; }),
	    // A key that opens nothing: the device refuses the first request.
	    descriptor(
		"key-wrong", 0, [](auto &d) { d.rkey = d.rkey.get() ^ 0xffff00; },
		kBroken + "|EIO"),
	    info("short", "map:EMSGSIZE", [](Bytes &m) { m.resize(m.size() - 1); }),
	    info("half-header", "map:EMSGSIZE", [](Bytes &m) { m.resize(5); }),
	    info("empty", "map:EMSGSIZE", [](Bytes &m) { m.clear(); }),
	    info("long", kBroken, [](Bytes &m) { m.resize(m.size() + 16); }),
	    followed_by("message-8", "any",
			[](Path &p) { p.con(0).post_send(Bytes(8, std::byte{0xa5})); }),
	    followed_by("message-4000", "any",
			[](Path &p) { p.con(1).post_send(Bytes(4000, std::byte{0xa5})); }),
	    followed_by("empty-messages", "ok",
			[](Path &p) {
				for (int i = 0; i < 16; i++)
					p.con(i % 2).post_send({});
			}),
	    followed_by("heartbeats", "ok",
			[](Path &p) {
				for (int i = 0; i < 32; i++)
					p.send_imm(0, kHeartbeatImm);
			}),
	    followed_by("heartbeat-acks", "ok",
			[](Path &p) {
				for (int i = 0; i < 32; i++)
					p.send_imm(0, kHeartbeatAckImm);
			}),
	    followed_by("heartbeats-on-io", "ok",
			[](Path &p) {
				for (int i = 0; i < 8; i++) {
					p.send_imm(1, kHeartbeatImm);
					p.send_imm(1, kHeartbeatAckImm);
				}
			}),
	    followed_by("responses", "ok",
			[](Path &p) {
				// On the connection that its requests do not go out on: the
				// first two slots are those of messages. On the right one it
				// could be early and in order.
				for (u32 slot = 0; slot < 32; slot++)
					p.send_imm(slot < 2, response_imm(Slot{slot}, 0, false));
			}),
	    followed_by("requests", "ok",
			[](Path &p) { p.send_imm(1, Immediate(ImmType::IoRequest, 0)); }),
	};
	Lie twice{.name = "info-twice", .row = "G.3-24", .outcome = "any"};
	twice.info = [](Path &, Bytes m) {
		return std::vector<Bytes>{m, m};
	};
	all.push_back(twice);
	// With keys announced there are receives that take a short message.
	Lie messages = followed_by("messages-with-keys", "ok", [](Path &p) {
		for (int i = 0; i < 16; i++)
			p.con(i % 2).post_send(Bytes(8, std::byte{0xa5}));
	});
	messages.geometry = with_keys();
	all.push_back(messages);
	return all;
}

} // namespace peer
