// SPDX-License-Identifier: GPL-2.0
// What two peers of this project tell each other beyond the common protocol (protocol D.5). Pure.
//
// A client offers the extensions in bytes of SESS_INFO that older servers ignore, and uses those
// that the answer confirms. Older senders leave any content in these bytes: the magic keeps that
// of a client apart, and the nonce, which is new in each question, that of a server, whose memory
// may hold an earlier answer. Without a confirmation none of the messages in the headers that this
// one includes is ever sent.
#pragma once

#include <rnbd/wire/device_limits.hh>
#include <rnbd/wire/device_states.hh>
#include <rnbd/wire/discover.hh>
#include <rnbd/wire/feature.hh>
#include <rnbd/wire/identify.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/numbered.hh>
#include <rnbd/wire/reserve.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// At byte kExtensionOffset of SESS_INFO and of its answer.
struct SessionExtension {
	u8 magic[8];
	Le64 nonce;
	Le64 instance; // 0 in the question
	Le32 features; // offered; confirmed
};
constexpr usize kExtensionOffset = 8;
static_assert(sizeof(SessionExtension) == 28);
static_assert(__builtin_offsetof(SessionExtension, nonce) == 8);
static_assert(__builtin_offsetof(SessionExtension, instance) == 16);
static_assert(__builtin_offsetof(SessionExtension, features) == 24);
static_assert(kExtensionOffset + sizeof(SessionExtension) == sizeof(SessionInfo));

constexpr u8 kExtensionMagic[8] = {'r', 'n', 'b', 'd', '+', 'e', 'x', 't'};

// What a session agreed on.
struct Extension {
	u32 features = 0;
	// Of the server: another one after each start of it, and never 0; 0 is unknown.
	u64 instance = 0;

	constexpr bool has(u32 f) const { return (features & f) == f; }
};

namespace detail {
// EBADMSG without the magic.
inline Result<SessionExtension> read_extension(ByteView session_info)
{
	Result<SessionExtension> e = session_info.read<SessionExtension>(kExtensionOffset);
	if (!e.ok())
		return e.error();
	for (usize i = 0; i < sizeof(kExtensionMagic); i++)
		if (e->magic[i] != kExtensionMagic[i])
			return err::ebadmsg;
	return e.take();
}

inline void write_extension(SessionInfo &m, u64 nonce, const Extension &content)
{
	SessionExtension e{};
	for (usize i = 0; i < sizeof(kExtensionMagic); i++)
		e.magic[i] = kExtensionMagic[i];
	e.nonce = nonce;
	e.instance = content.instance;
	e.features = content.features;
	__builtin_memcpy(reinterpret_cast<u8 *>(&m) + kExtensionOffset, &e, sizeof(e));
}
} // namespace detail

// Client side: the question, with a nonce that nobody can guess.
inline SessionInfo make_extended_session_info(u64 nonce)
{
	SessionInfo m = make_session_info();
	detail::write_extension(m, nonce, {.features = feature::all});
	return m;
}

// Server side: adds to the answer what the question asks for of `ours`, if it does; `ours.features`
// are those that the server has. The features agreed on.
inline u32 answer_extension(ByteView question, const Extension &ours, SessionInfo &answer)
{
	Result<SessionExtension> asked = detail::read_extension(question);
	if (!asked.ok())
		return 0;
	const u32 features = asked->features.get() & ours.features;
	detail::write_extension(answer, asked->nonce.get(),
				{.features = features, .instance = ours.instance});
	return features;
}

// Client side: what the answer confirms; nothing if it is that of an older server.
inline Extension parse_extension_response(ByteView answer, u64 nonce)
{
	Result<SessionExtension> e = detail::read_extension(answer);
	if (!e.ok() || e->nonce.get() != nonce)
		return {};
	return {.features = e->features.get() & feature::all, .instance = e->instance.get()};
}

} // namespace rnbd
