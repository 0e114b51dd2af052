// SPDX-License-Identifier: GPL-2.0
// Capsules that no honest client sends (protocol J.2).
#include "attack.hh"

#include <cstring>

#include <rnbd/wire/messages.hh>
#include <rtrs/wire/capsule.hh>

namespace peer {

using namespace rtrs;

namespace {

// With always_invalidate a capsule is a request; without it the server has promised to take none.
Attack with_capsules(std::string name, std::function<std::string(Client &)> run)
{
	return {std::move(name), "J.2 request", [run](const Target &t) -> std::string {
			Client c(t);
			c.offer_capsules();
			c.establish(fresh_name());
			if (!c.capsules())
				return "the server does not take up capsules";
			return run(c);
		}};
}

Client::Request question(Client &c, uint32_t slot = 0)
{
	return c.make_read(slot, bytes_of(rnbd::make_session_info()), 36, 36);
}

// Sends a correct question, changed.
Attack changed(std::string name, std::function<void(Client &, Bytes &)> change)
{
	return with_capsules(std::move(name), [change](Client &c) {
		Bytes capsule = c.capsule_of(question(c));
		change(c, capsule);
		c.send_capsule(capsule, c.slot(0).rkey.value);
		return expect_closed(c);
	});
}

void set_imm(Bytes &capsule, uint32_t value)
{
	const Le32 imm = value;
	std::memcpy(capsule.data(), &imm, sizeof(imm));
}

void set_usr_len(Bytes &capsule, uint16_t value)
{
	const Le16 length = value;
	std::memcpy(capsule.data() + 4, &length, sizeof(length));
}

Attack immediate(std::string name, std::function<uint32_t(Client &)> value)
{
	return changed("capsule-imm-" + name,
		       [value](Client &c, Bytes &capsule) { set_imm(capsule, value(c)); });
}

// The control: the right one is answered, again and again, between requests of the old kind.
std::string right(Client &c)
{
	for (int i = 0; i < 3; i++) {
		c.send_capsule(question(c));
		if (!c.new_rkey())
			return expect_closed(c);
		std::string bad = expect_answer(c.wait_answer(0), 0);
		if (bad.empty())
			bad = expect_alive(c);
		if (!bad.empty())
			return bad;
	}
	return "";
}

std::string not_offered(const Target &t)
{
	Client c(t);
	c.establish(fresh_name());
	if (c.capsules())
		return "the server takes up what was not offered";
	c.send_capsule(question(c));
	return expect_closed(c);
}

// The chunk stays open for the client, who could change it while it is worked on.
std::string other_key(Client &c)
{
	c.send_capsule(c.capsule_of(question(c)), c.slot(1).rkey.value);
	return expect_closed(c);
}

std::string no_key(Client &c)
{
	c.send_capsule(c.capsule_of(question(c)), 0x12345678);
	return expect_closed(c);
}

// Key and slot fit, but the connection is the one for the service.
std::string on_service(Client &c)
{
	c.send_capsule(c.capsule_of(question(c)), c.slot(0).rkey.value, 0);
	return expect_closed(c);
}

// The second one takes back a key that is not valid any more.
std::string twice(Client &c)
{
	const Bytes capsule = c.capsule_of(question(c));
	for (int i = 0; i < 16; i++)
		c.send_capsule(capsule, c.slot(0).rkey.value);
	// Where keys stay the same, an answer may have been in time.
	if (c.closed(milliseconds(3000)))
		return "";
	return expect_alive(c);
}

// A chunk whose key was taken back is closed to its client.
std::string write_behind(Client &c)
{
	const RemoteBuffer chunk = c.slot(1);
	Bytes capsule = c.capsule_of(question(c, 1));
	// Of no request at all, so that nobody opens the chunk again.
	capsule.resize(sizeof(RequestCapsule));
	set_usr_len(capsule, 0);
	c.send_capsule(capsule, chunk.rkey.value);
	c.con(1).post_write(Bytes(64), chunk.address.value, chunk.rkey.value, {});
	return expect_closed(c);
}

} // namespace

std::vector<Attack> capsule_attacks()
{
	return {
	    with_capsules("capsule-right", right),
	    {"capsule-not-offered", "J.2 offer", not_offered},
	    with_capsules("capsule-other-key", other_key),
	    with_capsules("capsule-no-key", no_key),
	    with_capsules("capsule-on-service", on_service),
	    with_capsules("capsule-twice", twice),
	    with_capsules("capsule-write-behind", write_behind),
	    changed("capsule-empty", [](Client &, Bytes &b) { b.clear(); }),
	    changed("capsule-short", [](Client &, Bytes &b) { b.resize(7); }),
	    changed("capsule-no-message", [](Client &, Bytes &b) { b.resize(8); }),
	    changed("capsule-cut-message", [](Client &, Bytes &b) { b.resize(20); }),
	    changed("capsule-no-header",
		    [](Client &, Bytes &b) { b.resize(8 + sizeof(rnbd::SessionInfo)); }),
	    changed("capsule-cut-header",
		    [](Client &, Bytes &b) { b.resize(8 + sizeof(rnbd::SessionInfo) + 12); }),
	    changed("capsule-long", [](Client &, Bytes &b) { b.resize(kMaxCapsule + 1); }),
	    changed("capsule-very-long", [](Client &, Bytes &b) { b.resize(65536); }),
	    changed("capsule-length-beyond", [](Client &, Bytes &b) { set_usr_len(b, 0xffff); }),
	    changed(
		"capsule-length-of-all",
		[](Client &, Bytes &b) { set_usr_len(b, static_cast<uint16_t>(b.size() - 8)); }),
	    changed("capsule-two-minds",
		    [](Client &, Bytes &b) {
			    // The header begins four bytes later, and says what it said.
			    b.insert(b.begin() + 8, 4, std::byte{0});
			    set_usr_len(b, sizeof(rnbd::SessionInfo) + 4);
		    }),
	    immediate("heartbeat", [](Client &) { return kHeartbeatImm.value(); }),
	    immediate("answer", [](Client &) { return response_imm({0}, 0, false).value(); }),
	    immediate("fence", [](Client &) { return Immediate(ImmType::Fence, 1).value(); }),
	    immediate("slot", [](Client &c) { return c.queue_depth() << c.layout().mem_bits(); }),
	    immediate("offset", [](Client &c) { return c.chunk_size() - 3; }),
	};
}

} // namespace peer
