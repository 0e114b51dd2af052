// SPDX-License-Identifier: GPL-2.0
// What the authentication of sessions adds to the messages of the handshake (protocol J.3). Pure.
//
// REQ and REP agree on it and carry the server's nonce (private_data.hh). INFO_REQ and INFO_RSP
// then have a tail with the proof of their sender. What is parsed here is believed by nobody before
// the MAC was compared: a view of the whole message is all that a parser gives.
#pragma once

#include <rtrs/wire/info.hh>
#include <rtrs/wire/key_name.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

constexpr usize kMacSize = 32;
constexpr usize kClientNonceSize = 32;

// A message authentication code. It has no operator==: codes are compared in constant time.
struct Mac {
	u8 bytes[kMacSize];

	constexpr ByteView view() const { return ByteView(bytes, sizeof(bytes)); }
};

// Fresh for each attempt of a path.
struct ClientNonce {
	u8 bytes[kClientNonceSize];
};

// Behind INFO_REQ.
struct InfoRequestTail {
	Le32 generation;
	u8 reserved[4];
	char key_name[kKeyNameSize];
	u8 nonce[kClientNonceSize];
	u8 mac[kMacSize];
};
static_assert(sizeof(InfoRequestTail) == 136);
static_assert(__builtin_offsetof(InfoRequestTail, key_name) == 8);
static_assert(__builtin_offsetof(InfoRequestTail, nonce) == 72);
static_assert(__builtin_offsetof(InfoRequestTail, mac) == 104);

// Behind the descriptors of INFO_RSP.
struct InfoResponseTail {
	u8 reserved[8];
	u8 mac[kMacSize];
};
static_assert(sizeof(InfoResponseTail) == 40);
static_assert(__builtin_offsetof(InfoResponseTail, mac) == 8);

constexpr usize kProvenInfoRequestSize = sizeof(InfoRequest) + sizeof(InfoRequestTail);

constexpr usize proven_info_response_size(u32 descriptors)
{
	return info_response_size(descriptors) + sizeof(InfoResponseTail);
}

// A message with a proof. All views are of the message, which nobody may change meanwhile: it lies
// in a buffer that was posted as a receive, into which the peer cannot write again.
struct ProvenMessage {
	ByteView plain;	  // the message of protocol A.4
	ByteView covered; // what the MAC covers: all but itself
	ByteView mac;
};

struct ProvenInfoRequest {
	ProvenMessage message;
	KeyName key;
	KeyGeneration generation;
};

namespace detail {
// `size` bytes of A.4 and a Tail behind them are all of `message`. EMSGSIZE.
template <class Tail> Result<ProvenMessage> split_proven(ByteView message, usize size)
{
	if (message.size() < size || message.size() - size != sizeof(Tail))
		return err::emsgsize;
	constexpr usize kBeforeMac = __builtin_offsetof(Tail, mac);
	const u8 *bytes = message.data();
	return ProvenMessage{
	    .plain = ByteView(bytes, size),
	    .covered = ByteView(bytes, size + kBeforeMac),
	    .mac = ByteView(bytes + size + kBeforeMac, kMacSize),
	};
}
} // namespace detail

// Server side: exactly 408 bytes, with a key's terminated and legal name and a generation. What
// stands before the tail is for parse_info_request() to check, once the proof is right. EMSGSIZE,
// EINVAL; each closes the path.
inline Result<ProvenInfoRequest> parse_proven_info_request(ByteView message)
{
	Result<ProvenMessage> split =
	    detail::split_proven<InfoRequestTail>(message, sizeof(InfoRequest));
	if (!split.ok())
		return split.error();
	const u8 *tail = message.data() + sizeof(InfoRequest);
	Le32 generation;
	__builtin_memcpy(&generation, tail + __builtin_offsetof(InfoRequestTail, generation),
			 sizeof(generation));
	if (generation.get() == 0)
		return err::einval;
	const TextView field(reinterpret_cast<const char *>(tail) +
				 __builtin_offsetof(InfoRequestTail, key_name),
			     kKeyNameSize);
	const usize length = field.find('\0');
	if (length == field.size())
		return err::einval;
	Result<KeyName> name = KeyName::from(field.first(length));
	if (!name.ok())
		return name.error();
	return ProvenInfoRequest{
	    .message = split.value(),
	    .key = name.value(),
	    .generation = {generation.get()},
	};
}

// The tail, but for its MAC, which covers it.
inline InfoRequestTail make_info_request_tail(const KeyName &key, KeyGeneration generation,
					      const ClientNonce &nonce)
{
	InfoRequestTail t{};
	t.generation = generation.value;
	const TextView name = key.view();
	for (usize i = 0; i < name.size(); i++)
		t.key_name[i] = name[i];
	__builtin_memcpy(t.nonce, nonce.bytes, sizeof(t.nonce));
	return t;
}

// Client side: any number of bytes before the tail, which for_each_remote_slot() checks, once the
// proof is right. EMSGSIZE if there is less than that message's own header.
inline Result<ProvenMessage> parse_proven_info_response(ByteView message)
{
	if (message.size() < proven_info_response_size(0))
		return err::emsgsize;
	return detail::split_proven<InfoResponseTail>(message,
						      message.size() - sizeof(InfoResponseTail));
}

} // namespace rtrs
