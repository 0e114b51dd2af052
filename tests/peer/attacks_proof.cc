// SPDX-License-Identifier: GPL-2.0
// Clients that pretend to be somebody (protocol J.3). The server has the key that the command line
// names. A path that ends without INFO_RSP has resisted: nothing else tells a wrong proof.
#include "attack.hh"
#include "proof.hh"

#include <cstring>
#include <thread>

namespace peer {

using namespace rtrs;

namespace {

Client challenged(const Target &t)
{
	Client c(t);
	c.offer_proof();
	c.connect_all();
	if (!c.challenged())
		throw LocalError("the server wants no proof");
	return c;
}

// Whatever the attack makes of what is right.
using Change = std::function<void(Bytes &info, Seen &seen, Key &key)>;

// Before the code is computed.
Attack lie(std::string name, Change change)
{
	return {"proof-" + name, "J.3 proof", [change](const Target &t) {
			Client c = challenged(t);
			Seen seen = seen_by(c);
			Key key = t.key;
			Bytes none;
			change(none, seen, key);
			c.send_info(proven_info(c, fresh_name(), key, seen));
			return expect_closed(c);
		}};
}

// After it.
Attack forgery(std::string name, Change change)
{
	return {"proof-" + name, "J.3 proof", [change](const Target &t) {
			Client c = challenged(t);
			Seen seen = seen_by(c);
			Key key = t.key;
			Bytes info = proven_info(c, fresh_name(), key, seen);
			change(info, seen, key);
			c.send_info(info);
			return expect_closed(c);
		}};
}

// The honest way, which shows that the attacks are wrong in one thing only.
std::string right(const Target &t)
{
	Client c = challenged(t);
	const Seen seen = seen_by(c);
	const Bytes info = proven_info(c, fresh_name(), t.key, seen);
	c.send_info(info);
	if (!c.receive_info())
		return "a right proof was refused";
	const Bytes &answer = c.raw_info();
	const Mac code = server_code(t.key, seen, info, answer);
	if (std::memcmp(code.bytes, answer.data() + answer.size() - kMacSize, kMacSize))
		return "the server's proof is wrong";
	return expect_alive(c);
}

// What was said in one attempt is worth nothing in the next, whoever said it.
std::string replayed(const Target &t, bool reflect)
{
	Client first = challenged(t);
	Bytes info = proven_info(first, fresh_name(), t.key, seen_by(first));
	first.send_info(info);
	if (!first.receive_info())
		return "a right proof was refused";
	const Bytes &answer = first.raw_info();
	if (reflect)
		std::memcpy(info.data() + info.size() - kMacSize,
			    answer.data() + answer.size() - kMacSize, kMacSize);
	Client second = challenged(t);
	second.send_info(info);
	return expect_closed(second);
}

// Who knows the ids of a session, which travel in clear, joins nothing and ends nothing.
std::string stolen(const Target &t, bool offers)
{
	Client owner(t);
	owner.offer_fences(1);
	owner.offer_proof();
	owner.connect_all();
	owner.send_info(proven_info(owner, fresh_name(), t.key, seen_by(owner)));
	if (!owner.receive_info())
		return "a right proof was refused";

	Client thief(t);
	thief.join_session(owner.session_uuid());
	thief.take_path(owner.path_uuid(), 7);
	thief.offer_fences(1000);
	thief.set_first(false);
	if (offers)
		thief.offer_proof();
	const ConnectResult r = thief.connect(0);
	if (!offers)
		return first_of({expect_reject(r, -ENXIO), expect_alive(owner)});
	std::string refused = first_of({expect_accept(r), expect_accept(thief.connect(1))});
	thief.send_info(thief.info_message(fresh_name()));
	return first_of({refused, expect_closed(thief), expect_alive(owner)});
}

// Who knows the id of a session keeps nobody out of it by asking and never proving anything. The
// server's word to him spoke of a life of the session that somebody else has begun, and ended.
std::string squatted(const Target &t)
{
	// Half of what the server gives an attempt.
	constexpr auto kLimit = milliseconds(15000);
	Client squatter = challenged(t);
	const auto owner_comes = [&] {
		Client owner(t);
		owner.join_session(squatter.session_uuid());
		owner.offer_proof();
		owner.connect_all();
		owner.send_info(proven_info(owner, fresh_name(), t.key, seen_by(owner)));
		return owner.receive_info();
	};
	if (!owner_comes())
		return "the first one was refused";
	// He may have to come again while the end of the first session is on its way.
	for (const auto end = Clock::now() + kLimit; Clock::now() < end;) {
		if (owner_comes())
			return {};
		std::this_thread::sleep_for(milliseconds(100));
	}
	return "the owner of the session is kept out";
}

// Whether this address may fail twice. Who only asked would have failed by that.
bool may_fail(const Target &t)
{
	Client clients[] = {Client(t), Client(t)};
	bool asked[2] = {};
	for (int i = 0; i < 2; i++) {
		clients[i].offer_proof();
		asked[i] = clients[i].connect(0).kind == ConnectResult::Kind::Accepted;
	}
	for (int i = 0; i < 2; i++) {
		Client &c = clients[i];
		if (!asked[i] || c.connect(1).kind != ConnectResult::Kind::Accepted)
			continue;
		c.send_info(proven_info(c, fresh_name(), t.key, seen_by(c)));
		if (!c.receive_info())
			throw LocalError("a right proof was refused");
	}
	return asked[0] && asked[1];
}

// There are more attacks than an address may fail at once (rule 5); time gives one back each 2 s.
void await_turn(const Target &t)
{
	const auto end = Clock::now() + milliseconds(60000);
	while (!may_fail(t)) {
		if (Clock::now() > end)
			throw LocalError("the server refuses for too long");
		std::this_thread::sleep_for(milliseconds(1000));
	}
}

std::vector<Attack> all_attacks()
{
	return {
	    {"proof-right", "J.3 proof", right},
	    forgery("none", [](Bytes &m, Seen &, Key &) { m.resize(272); }),
	    forgery("short", [](Bytes &m, Seen &, Key &) { m.resize(407); }),
	    forgery("long", [](Bytes &m, Seen &, Key &) { m.resize(409); }),
	    forgery("bit", [](Bytes &m, Seen &, Key &) { m.back() ^= std::byte{1}; }),
	    forgery("zero", [](Bytes &m, Seen &, Key &) { std::memset(&m[376], 0, 32); }),
	    forgery("other-name", [](Bytes &m, Seen &, Key &) { m[16] ^= std::byte{1}; }),
	    forgery("generation-0", [](Bytes &m, Seen &, Key &) { std::memset(&m[272], 0, 4); }),
	    forgery("key-unterminated",
		    [](Bytes &m, Seen &, Key &) { std::memset(&m[280], 'a', 64); }),
	    lie("other-secret", [](Bytes &, Seen &, Key &k) { k.secret[0] ^= std::byte{1}; }),
	    lie("other-generation", [](Bytes &, Seen &, Key &k) { k.generation = 77; }),
	    lie("other-key", [](Bytes &, Seen &, Key &k) { k.name = "nobody"; }),
	    lie("other-connection", [](Bytes &, Seen &s, Key &) { s.numbers[1].client++; }),
	    lie("other-address", [](Bytes &, Seen &s, Key &) { s.client.address[15]++; }),
	    // Somebody between the two has taken an offer away.
	    lie("offer", [](Bytes &, Seen &s, Key &) { s.request[45] ^= std::byte{2}; }),
	    lie("answer", [](Bytes &, Seen &s, Key &) { s.reply[20] ^= std::byte{2}; }),
	    {"proof-replayed", "J.3 proof",
	     [](const Target &t) {
		     return replayed(t, false);
	     }},
	    {"proof-reflected", "J.3 proof",
	     [](const Target &t) {
		     return replayed(t, true);
	     }},
	    {"proof-squatted", "J.3 rule 1", squatted},
	    {"proof-stolen-plain", "J.3 rule 1",
	     [](const Target &t) {
		     return stolen(t, false);
	     }},
	    {"proof-stolen-offer", "J.3 rule 1",
	     [](const Target &t) {
		     return stolen(t, true);
	     }},
	};
}

} // namespace

std::vector<Attack> proof_attacks()
{
	std::vector<Attack> all = all_attacks();
	for (Attack &a : all)
		a.run = [run = a.run](const Target &t) {
			await_turn(t);
			return run(t);
		};
	return all;
}

} // namespace peer
