// SPDX-License-Identifier: GPL-2.0
// The transport's request as the parsers take it.
#pragma once

#include <rnbd/wire/units.hh>
#include <rtrs/rtrs.h>

namespace rnbd::server {

// The message is a private copy: it can be read more than once.
inline ByteView message_of(const rtrs_srv_request &r)
{
	return ByteView(r.msg, r.msg_len);
}

inline Transfer transfer_of(const rtrs_srv_request &r)
{
	if (r.dir == RTRS_READ)
		return {Transfer::Direction::Read, r.answer_max};
	return {Transfer::Direction::Write, r.data_len};
}

// Whole structures that were zeroed, never what the chunk held before. The parsers have checked
// that there is room.
template <class T> u32 put_answer(const rtrs_srv_request &r, const T &answer)
{
	__builtin_memcpy(r.data, &answer, sizeof(answer));
	return sizeof(answer);
}

} // namespace rnbd::server
