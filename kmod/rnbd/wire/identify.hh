// SPDX-License-Identifier: GPL-2.0
// IDENTIFY: which device it is, whatever its name, and whether it has lost writes (protocol D.5).
// Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>
#include <rnbd/wire/wwid.hh>

namespace rnbd {

struct Identify {
	MessageHeader header;
	Le32 device_id;
};
static_assert(sizeof(Identify) == 8);

struct IdentifyResponse {
	Le16 type;
	Le16 flags; // older servers: 0
	Le32 losses;
	char wwid[kWwidSize];
};
static_assert(sizeof(IdentifyResponse) == 128);
static_assert(__builtin_offsetof(IdentifyResponse, flags) == 2);
static_assert(__builtin_offsetof(IdentifyResponse, losses) == 4);
static_assert(__builtin_offsetof(IdentifyResponse, wwid) == 8);

struct Identity {
	Wwid wwid; // empty if there is none
	// Counts how often the server could not make durable what clients had written to the
	// device. Another number is to this device what another instance is to all.
	u32 losses = 0;
	// It was opened as what an administrator has configured under that name. When that is gone,
	// so is the device for this client, under whatever name it could be found.
	bool configured = false;
};

namespace identify_flag {
constexpr u16 configured = 1u << 0;
} // namespace identify_flag

constexpr Identify make_identify(DeviceId id)
{
	return {MessageHeader::of(MessageType::Identify), id.value};
}

// Server side. EMSGSIZE, EINVAL for another type or a write.
inline Result<DeviceId> parse_identify(ByteView message, Transfer transfer)
{
	Result<Identify> m = message.read<Identify>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::Identify) || !transfer.is_read())
		return err::einval;
	if (transfer.size < sizeof(IdentifyResponse))
		return err::emsgsize;
	return DeviceId{m->device_id.get()};
}

inline IdentifyResponse make_identify_response(const Identity &identity)
{
	IdentifyResponse m{};
	m.type = static_cast<u16>(MessageType::IdentifyResponse);
	m.flags = identity.configured ? identify_flag::configured : 0;
	m.losses = identity.losses;
	const TextView text = identity.wwid.view();
	for (usize i = 0; i < text.size(); i++)
		m.wwid[i] = text[i];
	return m;
}

// Client side. EMSGSIZE, EINVAL for another type, or a text without end or with characters that a
// Wwid does not have.
inline Result<Identity> parse_identify_response(ByteView answer)
{
	Result<IdentifyResponse> m = answer.read<IdentifyResponse>();
	if (!m.ok())
		return m.error();
	if (m->type.get() != static_cast<u16>(MessageType::IdentifyResponse))
		return err::einval;
	const TextView field(m->wwid, kWwidSize);
	const TextView text = field.first(field.find('\0'));
	if (text.size() == field.size())
		return err::einval;
	Result<Wwid> wwid = Wwid::parse(text);
	if (!wwid.ok())
		return wwid.error();
	return Identity{.wwid = wwid.take(),
			.losses = m->losses.get(),
			.configured = (m->flags.get() & identify_flag::configured) != 0};
}

} // namespace rnbd
