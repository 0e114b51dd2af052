// SPDX-License-Identifier: GPL-2.0
// Lies of a server that is not who the client thinks, or of somebody between the two (protocol
// J.3). A key that the client has, and what it demands, are the same in all of them: what differs
// is wrong in one thing only.
#include "path.hh"

#include <cstring>

#include <rtrs/wire/authentication.hh>
#include <rtrs/wire/descriptor.hh>

namespace peer {

using namespace rtrs;

namespace {

const std::string kRejected = "map:EKEYREJECTED";
constexpr size_t kTail = sizeof(InfoResponseTail);
// Of REP and REQ (protocol A.3, J.1 to J.4).
constexpr size_t kFeatures = 20, kSerial = 24, kInstance = 28, kNonce = 32, kOffers = 45;

// What all of one run have in common.
class Maker {
public:
	explicit Maker(const Key &key) : key_(key) {}

	Lie make(std::string name, std::string outcome, const std::string &policy = "required",
		 bool with_key = true) const
	{
		Lie l{.name = "proof-" + name, .row = "J.3", .outcome = std::move(outcome)};
		l.auth = policy.empty() ? "" : "auth=" + policy;
		l.auth += with_key ? " key=" + key_.name : "";
		l.key = key_;
		l.proves = true;
		l.unproven_from = l.outcome.starts_with("map:") ? 1 : 0;
		return l;
	}

	// The code is right for what it is made of, which is not what the client saw.
	Lie claim(std::string name, std::function<void(Claim &)> change,
		  std::string outcome = kRejected) const
	{
		Lie l = make(std::move(name), std::move(outcome));
		l.claim = [change](Path &, Claim &c) {
			change(c);
		};
		return l;
	}

	// The message is changed when its code is there.
	Lie forgery(std::string name, std::function<void(Bytes &)> change,
		    std::string outcome = kRejected, const std::string &policy = "required") const
	{
		Lie l = make(std::move(name), std::move(outcome), policy);
		l.info = [change](Path &, Bytes m) {
			change(m);
			return std::vector<Bytes>{m};
		};
		return l;
	}

	// REP is changed on its way to the client, on every connection or on one.
	Lie reply(std::string name, std::function<void(Bytes &)> change,
		  std::string outcome = kRejected, int liar = -1,
		  const std::string &policy = "required", bool with_key = true) const
	{
		Lie l = make(std::move(name), std::move(outcome), policy, with_key);
		l.greet = [change, liar](uint16_t cid, unsigned, ConnectReply r) {
			Bytes b = bytes_of(r);
			if (liar < 0 || liar == cid)
				change(b);
			return Greeting{Greeting::Kind::Accept, b};
		};
		return l;
	}

	const Key &key() const { return key_; }

private:
	Key key_;
};

auto flip(size_t at, int bits)
{
	return [at, bits](Bytes &m) {
		m.at(at) ^= static_cast<std::byte>(bits);
	};
}

// So many bytes in front of the end.
auto flip_back(size_t from_end, int bits)
{
	return [from_end, bits](Bytes &m) {
		m.at(m.size() - from_end) ^= static_cast<std::byte>(bits);
	};
}

auto resize(int by)
{
	return [by](Bytes &m) {
		m.resize(m.size() + static_cast<size_t>(by));
	};
}

// The honest ways, which show that the lies are wrong in one thing only.
std::vector<Lie> truths(const Maker &m)
{
	Lie keys = m.make("right-keys", "ok");
	keys.geometry.new_rkey = true;
	Lie offers = m.make("right-offers", "ok");
	offers.geometry.capsules = offers.geometry.short_heartbeats = true;
	Lie plain = m.make("none-optional", "ok", "optional");
	plain.proves = false;
	return {
	    m.make("right", "ok"),
	    m.make("right-optional", "ok", "optional"),
	    m.make("right-reconnect", "ok reconnect"),
	    keys,
	    offers,
	    // Policies say so: the client's `optional` gives in.
	    plain,
	    // A server that has the key may say more than this client knows.
	    m.claim(
		"reserved-proven", [](Claim &c) { c.info_response.at(264) = std::byte{0xff}; },
		"ok"),
	    // Only cid 0 decides, whose REP is what the codes are made of.
	    m.reply("nonce-con-1", flip(kNonce, 1), "ok", 1),
	};
}

// REP, and what is not said at all.
std::vector<Lie> reply_lies(const Maker &m)
{
	Lie none = m.make("none", "map:EPROTONOSUPPORT");
	none.proves = false;
	// A key that is named is a proof that is required.
	Lie unsaid = m.make("none-unsaid", "map:EPROTONOSUPPORT", "");
	unsaid.proves = false;
	const auto algorithm = [](int n) {
		return [n](Bytes &b) {
			b.at(kFeatures + 1) = static_cast<std::byte>(n);
		};
	};
	const auto taken_up = [](Bytes &b) {
		b.at(kFeatures) |= std::byte{ConnectReply::kAuthentication};
		std::memset(&b.at(kNonce), 0x5a, sizeof(ServerNonce));
	};
	Lie hang_up = m.make("hang-up", kRejected);
	hang_up.info = [](Path &p, const Bytes &) {
		p.disconnect();
		return std::vector<Bytes>{};
	};
	return {
	    none,
	    unsaid,
	    m.reply("algorithm-1", algorithm(1), "map:EINVAL"),
	    m.reply("algorithm-255", algorithm(255), "map:EINVAL"),
	    m.reply("algorithm-optional", algorithm(1), "map:EINVAL", -1, "optional"),
	    m.reply("unasked", taken_up, "map:EPROTO", -1, "optional", false),
	    m.reply("unasked-off", taken_up, "map:EPROTO", -1, "off", false),
	    // What a server does that does not know the key.
	    hang_up,
	    m.reply("way-nonce", flip(kNonce, 1)),
	    m.reply("way-nonce-end", flip(kNonce + sizeof(ServerNonce) - 1, 0x80)),
	    m.reply("way-capsules", flip(kFeatures, ConnectReply::kCapsules)),
	    m.reply("way-heartbeats", flip(kFeatures, ConnectReply::kShortHeartbeats)),
	    m.reply("way-connections",
		    [](Bytes &b) {
			    b.at(kFeatures) |= std::byte{ConnectReply::kFewerConnections};
			    b.at(kFeatures + 2) = std::byte{kMinConnections};
		    }),
	    m.reply("way-fences",
		    [](Bytes &b) {
			    b.at(kFeatures) ^= std::byte{ConnectReply::kFences};
			    b.at(kSerial) = std::byte{1};
		    }),
	    m.reply("way-unknown", flip(kFeatures, 0x80)),
	    m.reply("way-serial", flip(kSerial, 1)),
	    m.reply("way-instance", flip(kInstance, 1)),
	    m.reply("way-keys", flip(16, ConnectReply::kNewRkey)),
	    m.reply("way-minor", flip(2, 1)),
	};
}

// Lengths, and codes that are none.
std::vector<Lie> tail_lies(const Maker &m)
{
	const auto fill_code = [](int value) {
		return [value](Bytes &b) {
			std::memset(&b.at(b.size() - kMacSize), value, kMacSize);
		};
	};
	const auto cut = [](size_t size) {
		return [size](Bytes &b) {
			b.resize(size);
		};
	};
	Lie reflected = m.make("reflected", kRejected);
	reflected.info = [](Path &p, Bytes b) {
		std::memcpy(&b.at(b.size() - kMacSize), p.of_client().bytes, kMacSize);
		return std::vector<Bytes>{b};
	};
	// The client has not asked for a tail then, and has no room for it.
	Lie unasked = m.make("tail-unasked", "map:ECONNRESET|ECONNABORTED", "optional");
	unasked.proves = false;
	unasked.info = [](Path &, Bytes b) {
		b.resize(b.size() + kTail);
		return std::vector<Bytes>{b};
	};
	return {
	    m.forgery("no-tail", resize(-static_cast<int>(kTail))),
	    m.forgery("no-tail-optional", resize(-static_cast<int>(kTail)), kRejected, "optional"),
	    m.forgery("short", resize(-1)),
	    m.forgery("long", resize(1)),
	    m.forgery("longer", resize(kTail)),
	    m.forgery("no-list", [](Bytes &b) { b.erase(b.begin() + 8, b.end() - kTail); }),
	    m.forgery("only-tail", cut(kTail), "map:EMSGSIZE"),
	    m.forgery("empty", cut(0), "map:EMSGSIZE"),
	    m.forgery("bit-first", flip_back(kMacSize, 0x80)),
	    m.forgery("bit-last", flip_back(1, 1)),
	    m.forgery("bit-optional", flip_back(1, 1), kRejected, "optional"),
	    m.forgery("zero", fill_code(0)),
	    m.forgery("ones", fill_code(0xff)),
	    m.forgery("reserved", flip_back(kTail, 1)),
	    m.forgery("header", flip(0, 4)),
	    m.forgery("count", flip(2, 1)),
	    m.forgery("address", flip(8, 1)),
	    m.forgery("key", flip(16 + 15 * 16, 1)),
	    m.forgery("length", flip(20, 1)),
	    m.forgery("swapped",
		      [](Bytes &b) { std::swap_ranges(&b.at(8), &b.at(24), &b.at(24)); }),
	    reflected,
	    unasked,
	};
}

// Codes over something else.
std::vector<Lie> claims(const Maker &m)
{
	const auto asked = [&m](std::string name, size_t at, int bits) {
		return m.claim(std::move(name), [at, bits](Claim &c) {
			c.seen.request.at(at) ^= static_cast<std::byte>(bits);
		});
	};
	const auto info = [&m](std::string name, size_t at) {
		return m.claim(std::move(name),
			       [at](Claim &c) { c.info_request.at(at) ^= std::byte{1}; });
	};
	return {
	    m.claim("other-secret", [](Claim &c) { c.key.secret.at(0) ^= std::byte{1}; }),
	    m.claim("other-key", [](Claim &c) { c.key.name += "x"; }),
	    // Somebody has taken an offer out of REQ, or put one into it.
	    asked("asked-fences", kOffers, ConnectRequest::kFences),
	    asked("asked-capsules", kOffers, ConnectRequest::kCapsules),
	    asked("asked-heartbeats", kOffers, ConnectRequest::kShortHeartbeats),
	    asked("asked-connections", kOffers, ConnectRequest::kFewerConnections),
	    asked("asked-unknown", kOffers, 0x80),
	    asked("asked-algorithms", 46, 2),
	    asked("asked-epoch", 48, 1),
	    asked("asked-session", 28, 1),
	    asked("asked-path", 12, 1),
	    // Somebody else's connection is in the path.
	    m.claim("client-qp", [](Claim &c) { c.seen.numbers.at(1).client++; }),
	    m.claim("server-qp", [](Claim &c) { c.seen.numbers.at(1).server++; }),
	    m.claim("service-qp", [](Claim &c) { c.seen.numbers.at(0).server++; }),
	    m.claim("qps-swapped",
		    [](Claim &c) { std::swap(c.seen.numbers.at(0), c.seen.numbers.at(1)); }),
	    m.claim("qp-missing", [](Claim &c) { c.seen.numbers.pop_back(); }),
	    // Somebody passes it all on from addresses of his own.
	    m.claim("client-address", [](Claim &c) { c.seen.client.address[15]++; }),
	    m.claim("server-address", [](Claim &c) { c.seen.server.address[15]++; }),
	    m.claim("client-port", [](Claim &c) { c.seen.client.port++; }),
	    m.claim("server-port", [](Claim &c) { c.seen.server.port++; }),
	    m.claim("ends-swapped", [](Claim &c) { std::swap(c.seen.client, c.seen.server); }),
	    info("info-name", 2),
	    info("info-generation", 272),
	    info("info-key", 280),
	    info("info-nonce", 344),
	    // Who has the key is believed, but not everything.
	    m.claim(
		"proven-none", [](Claim &c) { std::memset(&c.info_response.at(2), 0, 2); },
		"map:EINVAL|EMSGSIZE"),
	    m.claim(
		"proven-length", [](Claim &c) { c.info_response.at(20) ^= std::byte{1}; },
		"map:EINVAL"),
	};
}

// What was said in the first attempt is worth nothing in the next.
Lie replayed(const Maker &m, std::string name, bool reply_too)
{
	struct Said {
		Bytes reply, info;
	};
	auto said = std::make_shared<Said>();
	Lie l = m.make(std::move(name), "ok reconnect-EKEYREJECTED");
	l.unproven_from = 2;
	if (reply_too)
		l.greet = [said](uint16_t cid, unsigned attempt, ConnectReply r) {
			if (attempt == 1 && cid == 0)
				said->reply = bytes_of(r);
			return Greeting{Greeting::Kind::Accept, said->reply};
		};
	l.info = [said](Path &p, Bytes b) {
		if (p.attempt() == 1)
			said->info = b;
		return std::vector<Bytes>{said->info};
	};
	return l;
}

// A server that has proven itself, and comes back as somebody who does not.
Lie comes_back_plain(const Maker &m, std::string name, const std::string &policy)
{
	Lie l = m.make(std::move(name), "ok reconnect-EPROTONOSUPPORT", policy);
	l.unproven_from = 2;
	l.greet = [](uint16_t, unsigned attempt, ConnectReply r) {
		if (attempt > 1)
			r.features = 0;
		return Greeting{Greeting::Kind::Accept, bytes_of(r)};
	};
	return l;
}

// The paths that are connected keep what was agreed on with who has proven himself.
Lie slows_heartbeats(const Maker &m)
{
	Lie l = m.make("reconnect-heartbeats", "ok reconnect-heartbeats");
	l.unproven_from = 2;
	l.geometry.short_heartbeats = true;
	l.greet = [](uint16_t, unsigned attempt, ConnectReply r) {
		if (attempt > 1)
			r.features = r.features.get() ^ ConnectReply::kShortHeartbeats;
		return Greeting{Greeting::Kind::Accept, bytes_of(r)};
	};
	return l;
}

} // namespace

std::vector<Lie> proof_lies(const Key &key)
{
	const Maker m(key);
	std::vector<Lie> all = truths(m);
	for (auto part : {reply_lies(m), tail_lies(m), claims(m)})
		for (Lie &l : part)
			all.push_back(std::move(l));
	all.push_back(replayed(m, "replayed", false));
	all.push_back(replayed(m, "replayed-all", true));
	all.push_back(comes_back_plain(m, "reconnect-none", "required"));
	all.push_back(comes_back_plain(m, "reconnect-none-unsaid", ""));
	all.push_back(comes_back_plain(m, "reconnect-none-optional", "optional"));
	all.push_back(slows_heartbeats(m));
	return all;
}

} // namespace peer
