// SPDX-License-Identifier: GPL-2.0
// The new key of a chunk, sent with a response if NEW_RKEY was announced (protocol A.4). Pure.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

struct RkeyResponse {
	Le16 type;
	Le16 buf_id;
	Le32 rkey;
};
static_assert(sizeof(RkeyResponse) == 8);
static_assert(__builtin_offsetof(RkeyResponse, buf_id) == 2);
static_assert(__builtin_offsetof(RkeyResponse, rkey) == 4);

constexpr RkeyResponse make_rkey_response(Slot slot, Rkey rkey)
{
	return {static_cast<u16>(MessageType::RkeyResponse), static_cast<u16>(slot.value),
		rkey.value};
}

// Client side; `slot` is the one in the immediate that came with it. EMSGSIZE, EPROTO for another
// type, EINVAL for another slot; each is a reason for path recovery. The key may be the old one.
inline Result<Rkey> parse_rkey_response(ByteView data, Slot slot)
{
	if (data.size() != sizeof(RkeyResponse))
		return err::emsgsize;
	Result<RkeyResponse> m = data.read<RkeyResponse>();
	if (!m.ok())
		return m.error();
	if (m->type.get() != static_cast<u16>(MessageType::RkeyResponse))
		return err::eproto;
	if (m->buf_id.get() != slot.value)
		return err::einval;
	return Rkey{m->rkey.get()};
}

} // namespace rtrs
