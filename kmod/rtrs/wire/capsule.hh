// SPDX-License-Identifier: GPL-2.0
// Capsules (protocol J.2), between peers that both offer them: a SEND_WITH_INV whose payload is
// what an immediate, a message or a header and a new key say otherwise, so that one message does
// for two. Pure.
//
//	client to server	RequestCapsule, user message, header; takes back the chunk's key
//	server to client	AnswerCapsule; takes back the key of the request's memory
#pragma once

#include <rtrs/wire/immediate.hh>
#include <rtrs/wire/io_header.hh>

namespace rtrs {

struct RequestCapsule {
	Le32 imm; // IO_REQ, as a number
	Le16 usr_len;
	Le16 reserved;
	// The user message and, right behind it, the header follow.
};
static_assert(sizeof(RequestCapsule) == 8);
static_assert(__builtin_offsetof(RequestCapsule, usr_len) == 4);

struct AnswerCapsule {
	Le32 imm;  // IO_RSP_W_INV, as a number
	Le32 rkey; // the chunk's new key if NEW_RKEY was announced, else 0
};
static_assert(sizeof(AnswerCapsule) == 8);
static_assert(__builtin_offsetof(AnswerCapsule, rkey) == 4);

// The largest that a server has room for. A longer message travels in its chunk.
constexpr u32 kMaxCapsule = 128;

constexpr bool fits_capsule(usize usr_len)
{
	return usr_len <= kMaxCapsule - sizeof(RequestCapsule) - kMaxIoHeaderSize;
}

constexpr RequestCapsule make_request_capsule(Immediate imm, u16 usr_len)
{
	return {imm.value(), usr_len, u16{0}};
}

constexpr AnswerCapsule make_answer_capsule(Immediate imm, Rkey rkey)
{
	return {imm.value(), rkey.value};
}

// Server side. The parts are views of what was parsed.
struct RequestCapsuleFields {
	Immediate imm; // not looked at yet: ImmLayout does that
	ByteView message;
	ByteView header; // of any length
};

// EMSGSIZE for a capsule that is longer than any, or does not hold what it says. On the way of
// requests: what is in a Result goes through memory.
[[gnu::always_inline]] inline Status parse_request_capsule(ByteView data,
							   RequestCapsuleFields &fields)
{
	if (data.size() > kMaxCapsule || data.size() < sizeof(RequestCapsule)) [[unlikely]]
		return err::emsgsize;
	const RequestCapsule prefix = cxxrt::load<RequestCapsule>(data.data());
	const usize usr_len = prefix.usr_len.get();
	if (usr_len > data.size() - sizeof(RequestCapsule)) [[unlikely]]
		return err::emsgsize;
	const u8 *message = data.data() + sizeof(RequestCapsule);
	fields.imm = Immediate::from_value(prefix.imm.get());
	fields.message = {message, usr_len};
	fields.header = {message + usr_len, data.size() - sizeof(RequestCapsule) - usr_len};
	return {};
}

inline Result<RequestCapsuleFields> parse_request_capsule(ByteView data)
{
	RequestCapsuleFields fields{Immediate::from_value(0), {}, {}};
	TRY(parse_request_capsule(data, fields));
	return fields;
}

// Client side.
struct AnswerCapsuleFields {
	Immediate imm;
	Rkey rkey;
};

// EMSGSIZE for another length, EPROTO for anything but an answer with invalidation; each is a
// reason for path recovery. Whether there is such a slot is for ImmLayout to say.
inline Result<AnswerCapsuleFields> parse_answer_capsule(ByteView data)
{
	if (data.size() != sizeof(AnswerCapsule))
		return err::emsgsize;
	const Result<AnswerCapsule> m = data.read<AnswerCapsule>();
	if (!m.ok())
		return m.error();
	const Immediate imm = Immediate::from_value(m->imm.get());
	if (!imm.is(ImmType::IoResponseWithInvalidate))
		return err::eproto;
	return AnswerCapsuleFields{imm, Rkey{m->rkey.get()}};
}

} // namespace rtrs
