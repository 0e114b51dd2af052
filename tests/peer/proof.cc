// SPDX-License-Identifier: GPL-2.0
#include "proof.hh"

#include "../unit/library_hmac.hh"

#include <arpa/inet.h>
#include <cstring>
#include <random>

namespace peer {

using namespace rtrs;
using testing_support::LibraryHmac;

namespace {

ByteView view(const Bytes &bytes)
{
	return {bytes.data(), bytes.size()};
}

void check(const Status &s)
{
	if (!s.ok())
		throw LocalError("a code could not be computed");
}

Transcript transcript_of(const Seen &seen, ByteView info_request)
{
	return {
	    .request = view(seen.request),
	    .reply = view(seen.reply),
	    .connections = static_cast<u16>(seen.numbers.size()),
	    .client = seen.client,
	    .server = seen.server,
	    .info_request = info_request,
	};
}

void derive(LibraryHmac &hmac, const Key &key, AuthRole role, RoleKey<LibraryHmac> &out)
{
	auto name = KeyName::from({key.name.data(), key.name.size()});
	if (!name.ok())
		throw LocalError("bad name of a key");
	check(out.derive(hmac, view(key.secret), name.value(), role));
}

} // namespace

Key parse_key(const std::string &text)
{
	Key key;
	const size_t first = text.find(':'), second = text.find(':', first + 1);
	key.name = text.substr(0, first);
	key.generation = static_cast<uint32_t>(std::stoul(text.substr(first + 1)));
	for (size_t at = second + 1; at + 1 < text.size(); at += 2)
		key.secret.push_back(
		    static_cast<std::byte>(std::stoul(text.substr(at, 2), nullptr, 16)));
	return key;
}

AuthEndpoint endpoint_of(const sockaddr &address)
{
	AuthEndpoint e{};
	if (address.sa_family != AF_INET)
		throw LocalError("no IPv4 address");
	const auto &in = reinterpret_cast<const sockaddr_in &>(address);
	e.family = AuthFamily::Ip4;
	e.address[10] = e.address[11] = 0xff;
	std::memcpy(e.address + 12, &in.sin_addr, 4);
	e.port = ntohs(in.sin_port);
	return e;
}

Seen seen_by(Client &client)
{
	Seen seen;
	seen.request = client.sent_request();
	seen.reply = client.raw_reply();
	for (uint16_t cid = 0; cid < client.connection_count(); cid++)
		seen.numbers.push_back(client.con(cid).numbers());
	seen.client = endpoint_of(client.con(0).local_address());
	seen.server = endpoint_of(client.con(0).peer_address());
	return seen;
}

Bytes proven_info(Client &client, const std::string &session, const Key &key, const Seen &seen)
{
	static std::random_device source;
	ClientNonce nonce;
	for (auto &b : nonce.bytes)
		b = static_cast<u8>(source());
	auto name = KeyName::from({key.name.data(), key.name.size()});
	if (!name.ok())
		throw LocalError("bad name of a key");
	Bytes message = client.info_message(session);
	const Bytes tail = bytes_of(make_info_request_tail(name.value(), {key.generation}, nonce));
	message.insert(message.end(), tail.begin(), tail.end());

	const Mac mac = client_code(key, seen, message);
	std::memcpy(message.data() + message.size() - kMacSize, mac.bytes, kMacSize);
	return message;
}

Mac client_code(const Key &key, const Seen &seen, const Bytes &info_request)
{
	LibraryHmac hmac;
	RoleKey<LibraryHmac> role;
	derive(hmac, key, AuthRole::Client, role);
	Mac mac;
	check(client_mac(
	    hmac, role, transcript_of(seen, {info_request.data(), info_request.size() - kMacSize}),
	    [&](ConnectionId cid) { return seen.numbers[cid.value]; }, mac));
	return mac;
}

Mac server_code(const Key &key, const Seen &seen, const Bytes &info_request,
		const Bytes &info_response)
{
	LibraryHmac hmac;
	RoleKey<LibraryHmac> role;
	derive(hmac, key, AuthRole::Server, role);
	Mac of_client;
	std::memcpy(of_client.bytes, info_request.data() + info_request.size() - kMacSize,
		    kMacSize);
	Mac mac;
	check(server_mac(
	    hmac, role, transcript_of(seen, {info_request.data(), info_request.size() - kMacSize}),
	    [&](ConnectionId cid) { return seen.numbers[cid.value]; }, of_client,
	    {info_response.data(), info_response.size() - kMacSize}, mac));
	return mac;
}

} // namespace peer
