// SPDX-License-Identifier: GPL-2.0
// Wrong immediates, headers and descriptors (protocol A.5, A.6, G.2 rows imm, slot, header, READ).
#include "attack.hh"

#include <cstring>

#include <rnbd/wire/messages.hh>

namespace peer {

using namespace rtrs;

namespace {

constexpr int kInvalid = -22;

using Requester = std::function<std::string(Client &)>;

Attack established(std::string name, std::string row, Requester run)
{
	return {std::move(name), std::move(row), [run](const Target &t) {
			Client c(t);
			c.establish(fresh_name());
			return run(c);
		}};
}

Bytes info_message()
{
	return bytes_of(rnbd::make_session_info());
}

// A correct question whose header is changed in place.
template <class Header> Client::Request with_header(Client &c, std::function<void(Header &)> change)
{
	Client::Request r = c.make_read(0, info_message(), 36, 36);
	Header h;
	std::memcpy(&h, r.header.data(), sizeof(h));
	change(h);
	std::memcpy(r.header.data(), &h, sizeof(h));
	return r;
}

Attack read_header(std::string name, std::string row,
		   std::function<void(ReadHeaderWithDescriptor &)> change)
{
	return established(name, row, [change](Client &c) {
		std::string refused = expect_answer(
		    c.call(with_header<ReadHeaderWithDescriptor>(c, change)), kInvalid);
		return first_of({refused, expect_alive(c)});
	});
}

Attack header_type(uint16_t type)
{
	return established(
	    "header-type-" + std::to_string(type), "G.2 header type", [type](Client &c) {
		    c.send(with_header<WriteHeader>(c, [type](WriteHeader &h) { h.type = type; }));
		    return expect_closed(c);
	    });
}

Attack immediate(std::string name, uint16_t con, uint32_t value)
{
	return established(name, "G.2 imm type", [con, value](Client &c) {
		const RemoteBuffer b = c.slot(0);
		c.con(con).post_write({}, b.address.value, b.rkey.value, value);
		return expect_closed(c);
	});
}

// A header that would reach `past` bytes beyond the end of the chunk.
Attack header_past_end(uint32_t past)
{
	return established("offset-past-end-" + std::to_string(past), "G.2 imm off",
			   [past](Client &c) {
				   const u32 offset = c.chunk_size() - sizeof(WriteHeader) + past;
				   Client::Request r = c.make_write(0, info_message());
				   r.imm = c.layout().request({0}, {offset}).value();
				   c.send(r);
				   return expect_closed(c);
			   });
}

// The first slot that is not there, or a later one. A queue depth that is a power of two leaves no
// way to name it.
Attack slot_beyond(std::string name, std::function<uint32_t(Client &)> slot)
{
	return established(std::move(name), "G.4-3", [slot](Client &c) -> std::string {
		const uint32_t places = 1u << (kImmPayloadBits - c.layout().mem_bits());
		if (c.queue_depth() == places)
			return "the server's queue depth is a power of two: choose another one";
		Client::Request r = c.make_read(0, info_message(), 36, 36);
		r.imm = c.layout().request({slot(c)}, {72}).value();
		c.send(r);
		return expect_closed(c);
	});
}

std::string busy_slot(Client &c)
{
	// The second is posted right behind the first; one of many is certain to find it busy.
	for (int i = 0; i < 64; i++)
		c.send(c.make_read(7, info_message(), 36, 36));
	return expect_closed(c);
}

std::string usr_len(Client &c, uint16_t len)
{
	auto r = with_header<ReadHeader>(c, [len](ReadHeader &h) { h.usr_len = len; });
	return first_of({expect_answer(c.call(r), kInvalid), expect_alive(c)});
}

std::string invalidation_without_descriptor(Client &c)
{
	Client::Request r = c.make_read(0, info_message(), 36, 36);
	ReadHeader h = make_read_header(36);
	h.flags = ReadHeader::kNeedInvalidate;
	r.header = bytes_of(h);
	return first_of({expect_answer(c.call(r), kInvalid), expect_alive(c)});
}

std::string wrong_answer_key(Client &c)
{
	c.send(with_header<ReadHeaderWithDescriptor>(
	    c, [](auto &h) { h.descriptor.rkey = h.descriptor.rkey.get() ^ 0xffff00; }));
	return expect_closed(c);
}

// The chunks of one session are out of reach of another one's queue pairs, whatever key these use.
std::string foreign_key(const Target &t)
{
	Client owner(t);
	owner.establish(fresh_name());
	Client thief(t);
	thief.establish(fresh_name());
	const RemoteBuffer b = owner.slot(3);
	thief.con(1).post_write(Bytes(64, std::byte{0xa5}), b.address.value, b.rkey.value, {});
	return first_of({expect_closed(thief), expect_alive(owner)});
}

// Memory that was registered for an answer and is not part of it keeps its content.
std::string nothing_beyond_the_answer(Client &c)
{
	std::memset(c.answer().data(), 0x5a, 65536);
	Client::Request r = c.make_read(0, info_message(), 65536, 65536);
	std::string answered = expect_answer(c.call(r), 0);
	for (size_t i = sizeof(rnbd::SessionInfo); i < 65536; i++)
		if (c.answer()[i] != std::byte{0x5a})
			return "byte " + std::to_string(i) + " behind the answer was written";
	return answered;
}

std::string rewritten_header(Client &c)
{
	// With always_invalidate the second write is refused by the device; without it the server
	// must have taken its copy.
	Client::Request r = c.make_read(0, info_message(), 36, 36);
	c.send(r);
	Bytes lie(36 + 36 + 24, std::byte{0xff});
	for (int i = 0; i < 200; i++)
		c.con(1).post_write(lie, c.slot(0).address.value, c.slot(0).rkey.value, {});
	c.wait_answer(0, milliseconds(3000));
	return "";
}

std::string stray_send(Client &c, uint16_t con)
{
	c.con(con).post_send(Bytes(64, std::byte{0xa5}));
	return expect_closed(c);
}

std::string long_message(Client &c)
{
	Bytes m(4000);
	std::memcpy(m.data(), info_message().data(), 36);
	return first_of({expect_refused(c.call(c.make_read(0, m, 36, 36))), expect_alive(c)});
}

std::string flood(Client &c)
{
	const uint32_t window = c.queue_depth();
	for (int round = 0; round < 30; round++) {
		for (uint32_t slot = 0; slot < window; slot++)
			c.send(c.make_read(slot, info_message(), 36, 36));
		for (uint32_t slot = 0; slot < window; slot++)
			if (auto text = expect_answer(c.wait_answer(slot), 0); !text.empty())
				return text;
	}
	return expect_alive(c);
}

} // namespace

std::vector<Attack> request_attacks()
{
	std::vector<Attack> all{
	    established("honest", "-", expect_alive),
	    established("slot-busy", "G.2 slot busy", busy_slot),
	    established("usr-len-0", "G.2 usr_len", [](Client &c) { return usr_len(c, 0); }),
	    established("usr-len-3", "G.2 usr_len", [](Client &c) { return usr_len(c, 3); }),
	    established("usr-len-beyond", "G.1-79", [](Client &c) { return usr_len(c, 73); }),
	    established("usr-len-65535", "G.1-79", [](Client &c) { return usr_len(c, 65535); }),
	    established("message-long", "G.2 usr_len", long_message),
	    read_header("read-sg-2", "G.2 READ sg_cnt", [](auto &h) { h.header.sg_cnt = 2; }),
	    read_header("read-sg-65535", "G.2 READ sg_cnt",
			[](auto &h) { h.header.sg_cnt = 65535; }),
	    read_header("read-flags", "G.2 READ flags", [](auto &h) { h.header.flags = 0xfffe; }),
	    established("read-inval-only", "G.2 READ flags", invalidation_without_descriptor),
	    read_header("desc-len-0", "G.2 READ desc.len", [](auto &h) { h.descriptor.len = 0; }),
	    read_header("desc-len-beyond", "G.1-78", [](auto &h) { h.descriptor.len = 37; }),
	    read_header("desc-len-chunk", "G.1-78", [](auto &h) { h.descriptor.len = 131072; }),
	    read_header("desc-len-max", "G.1-78", [](auto &h) { h.descriptor.len = 0xffffffff; }),
	    established("desc-key", "G.2 READ desc.addr/key", wrong_answer_key),
	    {"foreign-key", "G.2 READ desc.addr/key", foreign_key},
	    established("answer-bounded", "G.3-6", nothing_beyond_the_answer),
	    established("header-rewritten", "G.2 header copy", rewritten_header),
	    established("stray-send-service", "G.3-24", [](Client &c) { return stray_send(c, 0); }),
	    established("stray-send-io", "G.3-24", [](Client &c) { return stray_send(c, 1); }),
	    established("flood", "G.2 rates", flood),
	    immediate("heartbeat-on-io", 1, kHeartbeatImm.value()),
	};
	for (uint16_t type : {0, 1, 4, 5, 0xffff})
		all.push_back(header_type(type));
	for (uint32_t type : {1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15})
		for (uint16_t con : {0, 1})
			all.push_back(immediate("imm-type-" + std::to_string(type) + "-con-" +
						    std::to_string(con),
						con, type << kImmPayloadBits));
	// The last one is the size of the chunk itself.
	for (uint32_t past : {1, 2, 3, 4})
		all.push_back(header_past_end(past));
	all.push_back(slot_beyond("slot-beyond-depth", [](Client &c) { return c.queue_depth(); }));
	all.push_back(slot_beyond("slot-largest", [](Client &c) {
		return (1u << (kImmPayloadBits - c.layout().mem_bits())) - 1;
	}));
	return all;
}

} // namespace peer
