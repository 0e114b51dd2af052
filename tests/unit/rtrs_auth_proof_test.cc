// SPDX-License-Identifier: GPL-2.0
// Keys of the roles, transcript and codes (protocol J.3), against what another program computed.
#include "auth_vectors.hh"
#include "library_hmac.hh"

#include <rtrs/pure/auth_proof.hh>
#include <rtrs/wire/descriptor.hh>

#include <openssl/sha.h>

using namespace rtrs;
using auth_vectors::kVectors;
using auth_vectors::Vector;

namespace {

using Key = RoleKey<LibraryHmac>;

Bytes bytes_of_mac(const Mac &mac)
{
	return Bytes(mac.bytes, mac.bytes + sizeof(mac.bytes));
}

KeyName key_name(const char *name)
{
	return KeyName::from(TextView::of(name)).take();
}

AuthEndpoint endpoint(const char *digits)
{
	const Bytes wire = hex(digits);
	AuthEndpoint e{};
	e.family = static_cast<AuthFamily>(wire[0] | wire[1] << 8);
	e.port = static_cast<u16>(wire[2] | wire[3] << 8);
	std::memcpy(e.address, wire.data() + 4, 16);
	return e;
}

// INFO_RSP of a vector, without the MAC.
Bytes info_response(const auth_vectors::Regions &regions)
{
	Bytes bytes = bytes_of(make_info_response(regions.count));
	for (u32 i = 0; i < regions.count; i++) {
		const Bytes d =
		    bytes_of(Descriptor::from({.address = {regions.address + i * regions.step},
					       .rkey = {regions.rkey + (regions.count > 1 ? i : 0)},
					       .size = {regions.length}}));
		bytes.insert(bytes.end(), d.begin(), d.end());
	}
	bytes.resize(bytes.size() + sizeof(InfoResponseTail) - kMacSize);
	return bytes;
}

// One attempt with everything that goes into the codes, to be changed by a test.
struct Attempt {
	explicit Attempt(const Vector &v)
	    : secret(hex(v.secret)), name(v.key), request(hex(v.request)), reply(hex(v.reply)),
	      info(hex(v.info_request)), response(info_response(v.regions)), pairs(v.pairs),
	      client(endpoint(v.client)), server(endpoint(v.server))
	{
	}

	Transcript transcript() const
	{
		return {.request = view(request),
			.reply = view(reply),
			.connections = static_cast<u16>(pairs.size()),
			.client = client,
			.server = server,
			.info_request = view(info)};
	}
	QueuePairNumbers numbers(ConnectionId cid) const
	{
		return {pairs.at(cid.value).first, pairs.at(cid.value).second};
	}
	auto numbers_of() const
	{
		return [this](ConnectionId cid) {
			return numbers(cid);
		};
	}
	Mac of_client() const
	{
		LibraryHmac hmac;
		Key key;
		Mac mac{};
		EXPECT_TRUE(
		    key.derive(hmac, view(secret), key_name(name.c_str()), AuthRole::Client).ok());
		EXPECT_TRUE(client_mac(hmac, key, transcript(), numbers_of(), mac).ok());
		return mac;
	}
	Mac of_server() const
	{
		LibraryHmac hmac;
		Key key;
		Mac mac{};
		EXPECT_TRUE(
		    key.derive(hmac, view(secret), key_name(name.c_str()), AuthRole::Server).ok());
		EXPECT_TRUE(server_mac(hmac, key, transcript(), numbers_of(), of_client(),
				       view(response), mac)
				.ok());
		return mac;
	}

	Bytes secret;
	std::string name;
	Bytes request, reply, info, response;
	std::vector<std::pair<unsigned, unsigned>> pairs;
	AuthEndpoint client, server;
};

} // namespace

// The library's, by RFC 4231, test case 2.
TEST(AuthProof, LibraryIsHmacSha256)
{
	LibraryHmac hmac;
	Mac mac{};
	const Bytes key = hex("4a656665"); // "Jefe"
	ASSERT_TRUE(hmac.begin(view(key)).ok());
	ASSERT_TRUE(hmac.add(ByteView("what do ya want ", 16)).ok());
	ASSERT_TRUE(hmac.add(ByteView("for nothing?", 12)).ok());
	ASSERT_TRUE(hmac.end(mac.bytes).ok());
	EXPECT_EQ(bytes_of_mac(mac),
		  hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
}

TEST(AuthProof, KnownKeys)
{
	for (const Vector &v : kVectors) {
		LibraryHmac hmac;
		Key client, server;
		const Bytes secret = hex(v.secret);
		ASSERT_TRUE(
		    client.derive(hmac, view(secret), key_name(v.key), AuthRole::Client).ok());
		ASSERT_TRUE(
		    server.derive(hmac, view(secret), key_name(v.key), AuthRole::Server).ok());
		EXPECT_EQ(Bytes(client.view().data(), client.view().data() + 32), hex(v.client_key))
		    << v.what;
		EXPECT_EQ(Bytes(server.view().data(), server.view().data() + 32), hex(v.server_key))
		    << v.what;
	}
}

TEST(AuthProof, KnownCodes)
{
	for (const Vector &v : kVectors) {
		const Attempt attempt(v);
		Bytes digest(SHA256_DIGEST_LENGTH);
		SHA256(attempt.response.data(), attempt.response.size(), digest.data());
		ASSERT_EQ(digest, hex(v.response_digest)) << v.what;
		EXPECT_EQ(bytes_of_mac(attempt.of_client()), hex(v.client_mac)) << v.what;
		EXPECT_EQ(bytes_of_mac(attempt.of_server()), hex(v.server_mac)) << v.what;
	}
}

// The messages of the vectors are those that the modules would make.
TEST(AuthProof, MessagesAreAsMade)
{
	const Vector &v = kVectors[0];
	const Bytes request = hex(v.request), reply = hex(v.reply), info = hex(v.info_request);
	Result<ConnectRequestFields> r = parse_connect_request(view(request));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->authentication);
	EXPECT_EQ(r->algorithms, algorithm_bit(AuthAlgorithm::HmacSha256));
	EXPECT_EQ(bytes_of(make_connect_request(r.value())), request);
	Result<ConnectReplyFields> p = parse_connect_reply(view(reply));
	ASSERT_TRUE(p.ok());
	EXPECT_TRUE(p->authentication);
	EXPECT_EQ(bytes_of(make_connect_reply(p.value())), reply);

	Bytes whole = info;
	whole.resize(kProvenInfoRequestSize);
	Result<ProvenInfoRequest> parsed = parse_proven_info_request(view(whole));
	ASSERT_TRUE(parsed.ok());
	ClientNonce nonce{};
	std::memcpy(nonce.bytes, info.data() + 344, 32);
	Bytes made = bytes_of(make_info_request(SessionName::from("s").take()));
	const Bytes tail = bytes_of(make_info_request_tail(parsed->key, parsed->generation, nonce));
	made.insert(made.end(), tail.begin(), tail.end());
	EXPECT_EQ(made, whole);
}

// Each byte of the messages, each number and each address changes both codes.
TEST(AuthProof, EverythingIsCovered)
{
	const Attempt good(kVectors[1]);
	const Bytes of_client = bytes_of_mac(good.of_client());
	const Bytes of_server = bytes_of_mac(good.of_server());
	auto changed = [&](auto &&change) {
		Attempt other = good;
		change(other);
		EXPECT_NE(bytes_of_mac(other.of_client()), of_client);
		EXPECT_NE(bytes_of_mac(other.of_server()), of_server);
	};
	for (std::size_t i = 0; i < good.request.size(); i++)
		changed([i](Attempt &a) { a.request[i] ^= 1; });
	for (std::size_t i = 0; i < good.reply.size(); i++)
		changed([i](Attempt &a) { a.reply[i] ^= 0x80; });
	for (std::size_t i = 0; i < good.info.size(); i++)
		changed([i](Attempt &a) { a.info[i] ^= 4; });
	for (std::size_t i = 0; i < good.pairs.size(); i++) {
		changed([i](Attempt &a) { a.pairs[i].first++; });
		changed([i](Attempt &a) { a.pairs[i].second ^= 0x800000; });
		changed([i](Attempt &a) { std::swap(a.pairs[i].first, a.pairs[i].second); });
	}
	changed([](Attempt &a) { std::swap(a.pairs[1], a.pairs[2]); });
	changed([](Attempt &a) { a.pairs.pop_back(); });
	for (int i = 0; i < 16; i++) {
		changed([i](Attempt &a) { a.client.address[i] ^= 1; });
		changed([i](Attempt &a) { a.server.address[i] ^= 1; });
	}
	changed([](Attempt &a) { a.client.port++; });
	changed([](Attempt &a) { a.server.port++; });
	changed([](Attempt &a) { a.client.family = AuthFamily::Gid; });
	changed([](Attempt &a) { std::swap(a.client, a.server); });
	changed([](Attempt &a) { a.secret[31] ^= 1; });
	changed([](Attempt &a) { a.name = "store-1.site_c"; });
	// What the server alone says changes its own code only.
	for (std::size_t i = 0; i < good.response.size(); i += 7) {
		Attempt other = good;
		other.response[i] ^= 1;
		EXPECT_EQ(bytes_of_mac(other.of_client()), of_client);
		EXPECT_NE(bytes_of_mac(other.of_server()), of_server);
	}
}

// Neither key nor label of one role makes what the other would take.
TEST(AuthProof, NothingCanBeReflected)
{
	const Attempt attempt(kVectors[0]);
	LibraryHmac hmac;
	Key client, server;
	const KeyName name = key_name(attempt.name.c_str());
	ASSERT_TRUE(client.derive(hmac, view(attempt.secret), name, AuthRole::Client).ok());
	ASSERT_TRUE(server.derive(hmac, view(attempt.secret), name, AuthRole::Server).ok());
	Mac swapped{};
	ASSERT_TRUE(
	    client_mac(hmac, server, attempt.transcript(), attempt.numbers_of(), swapped).ok());
	EXPECT_EQ(code(check_mac<LibraryHmac>(attempt.of_client().view(), swapped)),
		  err::ekeyrejected.code());
	EXPECT_EQ(code(check_mac<LibraryHmac>(attempt.of_client().view(), attempt.of_server())),
		  err::ekeyrejected.code());
	EXPECT_TRUE(check_mac<LibraryHmac>(attempt.of_client().view(), attempt.of_client()).ok());
}

TEST(AuthProof, MacIsComparedAsAWhole)
{
	const Mac good{};
	for (std::size_t size = 0; size < 40; size++) {
		const Bytes sent(size);
		EXPECT_EQ(check_mac<LibraryHmac>(view(sent), good).ok(), size == 32);
	}
	for (std::size_t i = 0; i < 32; i++) {
		Bytes sent(32);
		sent[i] = 1;
		EXPECT_EQ(code(check_mac<LibraryHmac>(view(sent), good)), err::ekeyrejected.code());
	}
}

// Lengths other than the protocol's would let one part pass for a piece of another.
TEST(AuthProof, LengthsAreThoseOfTheProtocol)
{
	LibraryHmac hmac;
	Key key;
	Mac mac{};
	Attempt attempt(kVectors[0]);
	ASSERT_TRUE(key.derive(hmac, view(attempt.secret), key_name("k"), AuthRole::Client).ok());
	for (Bytes *part : {&attempt.request, &attempt.reply, &attempt.info}) {
		for (int by : {-1, 1}) {
			const Bytes before = *part;
			part->resize(before.size() + static_cast<std::size_t>(by));
			EXPECT_EQ(code(client_mac(hmac, key, attempt.transcript(),
						  attempt.numbers_of(), mac)),
				  err::emsgsize.code());
			*part = before;
		}
	}
}

TEST(AuthProof, KeysAreWiped)
{
	const std::size_t before = LibraryHmac::wiped;
	{
		LibraryHmac hmac;
		Key key;
		const Bytes secret = hex(kVectors[0].secret);
		ASSERT_TRUE(key.derive(hmac, view(secret), key_name("k"), AuthRole::Client).ok());
	}
	EXPECT_EQ(LibraryHmac::wiped, before + 32);
}

namespace {
// Fails at its n-th call.
struct FailingHmac {
	static inline int left = 0;

	static Status next() { return left-- > 0 ? Status() : Status(err::enomem); }
	Status begin(ByteView) { return next(); }
	Status add(ByteView) { return next(); }
	Status end(u8 (&)[kMacSize]) { return next(); }
	static bool equal(ByteView, ByteView) { return false; }
	static void wipe(void *, usize) {}
};
} // namespace

TEST(AuthProof, FailuresOfTheAlgorithmAreTold)
{
	const Attempt attempt(kVectors[0]);
	auto run = [&](int calls, auto &&what) {
		FailingHmac::left = calls;
		return code(what());
	};
	FailingHmac hmac;
	RoleKey<FailingHmac> key;
	Mac mac{};
	auto derive = [&] {
		return key.derive(hmac, view(attempt.secret), key_name("k"), AuthRole::Server);
	};
	auto of_client = [&] {
		return client_mac(hmac, key, attempt.transcript(), attempt.numbers_of(), mac);
	};
	auto of_server = [&] {
		return server_mac(hmac, key, attempt.transcript(), attempt.numbers_of(), mac,
				  view(attempt.response), mac);
	};
	// begin, label, name, end; begin, label, 5 parts and 2 connections, end; and 2 more.
	for (int calls = 0; calls < 4; calls++)
		EXPECT_EQ(run(calls, derive), err::enomem.code());
	EXPECT_EQ(run(4, derive), 0);
	for (int calls = 0; calls < 10; calls++)
		EXPECT_EQ(run(calls, of_client), err::enomem.code());
	EXPECT_EQ(run(10, of_client), 0);
	for (int calls = 0; calls < 12; calls++)
		EXPECT_EQ(run(calls, of_server), err::enomem.code());
	EXPECT_EQ(run(12, of_server), 0);
}
