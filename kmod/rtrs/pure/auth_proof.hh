// SPDX-License-Identifier: GPL-2.0
// Keys of the two roles, the transcript, and the codes over it (protocol J.3). Pure.
//
// `Hmac` is HMAC-SHA-256 of whoever has it: the kernel's in the modules, a library's in the tests.
//
//	Status begin(ByteView key)		then any number of
//	Status add(ByteView)			and one
//	Status end(u8 (&code)[kMacSize])
//	static bool equal(ByteView, ByteView)	in a time that depends on the lengths only
//	static void wipe(void *, usize)		that no compiler leaves out
//
// An error of it is that of its implementation, and no code was computed then.
#pragma once

#include <rtrs/wire/authentication.hh>
#include <rtrs/wire/constants.hh>
#include <rtrs/wire/private_data.hh>

namespace rtrs {

// A machine proves by the key of its role, so that no code of one can be the other's.
enum class AuthRole : u8 {
	Client,
	Server,
};

template <class Hmac> class RoleKey {
public:
	RoleKey() = default;
	RoleKey(const RoleKey &) = delete;
	RoleKey &operator=(const RoleKey &) = delete;
	~RoleKey() { Hmac::wipe(key_.bytes, sizeof(key_.bytes)); }

	// From the secret and the name under which it is shared.
	Status derive(Hmac &hmac, ByteView secret, const KeyName &name, AuthRole role)
	{
		Status s = hmac.begin(secret);
		if (s.ok())
			s = hmac.add(role == AuthRole::Client ? label("rnbd client")
							      : label("rnbd server"));
		if (s.ok())
			s = hmac.add(ByteView(name.view().data(), name.view().size()));
		if (s.ok())
			s = hmac.end(key_.bytes);
		return s;
	}

	ByteView view() const { return key_.view(); }

	// With its terminating zero: nothing that follows can make one label of another.
	template <usize N> static constexpr ByteView label(const char (&text)[N])
	{
		return ByteView(text, N);
	}

private:
	Mac key_ = {};
};

// Which number is in the transcript for a kind of address. Not the kernel's numbers.
enum class AuthFamily : u16 {
	Ip4 = 4, // as ::ffff:a.b.c.d
	Ip6 = 6, // without scope, which is a number of the machine that says it
	Gid = 1, // without port: there is none
};

// One end of the service connection, as the connection manager of both sides has it.
struct AuthEndpoint {
	AuthFamily family;
	u8 address[16];
	u16 port;
};

struct QueuePairNumbers {
	u32 client;
	u32 server;
};

// What both sides saw of one attempt. The views belong to the caller.
struct Transcript {
	ByteView request; // REQ of cid 0, the 56 bytes of A.3
	ByteView reply;	  // REP of cid 0, likewise
	u16 connections;
	AuthEndpoint client;
	AuthEndpoint server;
	ByteView info_request; // with its tail, without its MAC
};

namespace detail {
struct WireEndpoint {
	Le16 family;
	Le16 port;
	u8 address[16];

	explicit WireEndpoint(const AuthEndpoint &e)
	    : family(static_cast<u16>(e.family)), port(e.port)
	{
		__builtin_memcpy(address, e.address, sizeof(address));
	}
	ByteView view() const { return ByteView(this, sizeof(*this)); }
};
static_assert(sizeof(WireEndpoint) == 20);

struct WireQueuePairs {
	Le16 cid;
	Le16 reserved;
	Le32 client;
	Le32 server;
};
static_assert(sizeof(WireQueuePairs) == 12);

// Lengths are those of the protocol, so no part can be taken for a piece of another. EMSGSIZE.
template <class Hmac, class NumbersOf>
Status add_transcript(Hmac &hmac, const Transcript &t, NumbersOf &&numbers_of)
{
	if (t.request.size() != kPrivateDataSize || t.reply.size() != kPrivateDataSize ||
	    t.info_request.size() != kProvenInfoRequestSize - kMacSize)
		return err::emsgsize;
	Status s = hmac.add(t.request);
	if (s.ok())
		s = hmac.add(t.reply);
	for (u16 cid = 0; s.ok() && cid < t.connections; cid++) {
		const QueuePairNumbers numbers = numbers_of(ConnectionId{cid});
		const WireQueuePairs wire{cid, 0, numbers.client, numbers.server};
		s = hmac.add(ByteView(&wire, sizeof(wire)));
	}
	if (s.ok())
		s = hmac.add(WireEndpoint(t.client).view());
	if (s.ok())
		s = hmac.add(WireEndpoint(t.server).view());
	if (s.ok())
		s = hmac.add(t.info_request);
	return s;
}
} // namespace detail

// The client's proof. `numbers_of(ConnectionId)` are the QueuePairNumbers of each connection.
template <class Hmac, class NumbersOf>
Status client_mac(Hmac &hmac, const RoleKey<Hmac> &client_key, const Transcript &t,
		  NumbersOf &&numbers_of, Mac &out)
{
	Status s = hmac.begin(client_key.view());
	if (s.ok())
		s = hmac.add(RoleKey<Hmac>::label("info request"));
	if (s.ok())
		s = detail::add_transcript(hmac, t, numbers_of);
	if (s.ok())
		s = hmac.end(out.bytes);
	return s;
}

// The server's, over the client's and over `response`: INFO_RSP with its descriptors and its tail,
// without its MAC.
template <class Hmac, class NumbersOf>
Status server_mac(Hmac &hmac, const RoleKey<Hmac> &server_key, const Transcript &t,
		  NumbersOf &&numbers_of, const Mac &of_client, ByteView response, Mac &out)
{
	Status s = hmac.begin(server_key.view());
	if (s.ok())
		s = hmac.add(RoleKey<Hmac>::label("info response"));
	if (s.ok())
		s = detail::add_transcript(hmac, t, numbers_of);
	if (s.ok())
		s = hmac.add(of_client.view());
	if (s.ok())
		s = hmac.add(response);
	if (s.ok())
		s = hmac.end(out.bytes);
	return s;
}

// What the peer should have sent. It is wiped when it ends (rule 1): where the proof is wrong, this
// is the right one.
template <class Hmac> struct ExpectedMac {
	ExpectedMac() = default;
	ExpectedMac(const ExpectedMac &) = delete;
	ExpectedMac &operator=(const ExpectedMac &) = delete;
	~ExpectedMac() { Hmac::wipe(mac.bytes, sizeof(mac.bytes)); }

	Mac mac = {};
};

// What the peer sent against what it should have. EKEYREJECTED.
template <class Hmac> Status check_mac(ByteView sent, const Mac &expected)
{
	if (sent.size() != kMacSize || !Hmac::equal(sent, expected.view()))
		return err::ekeyrejected;
	return {};
}

} // namespace rtrs
