// SPDX-License-Identifier: GPL-2.0
// What goes wrong on a path of the client, by kind, as its statistics count it. Pure.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

// The first ones end the present connections of the path, and are counted once for each end,
// by what was seen first. The others leave the path as it is.
enum class PathError : u8 {
	Connect,      // an attempt to connect failed, whatever the reason
	Disconnected, // the server, the connection manager or the device ended the connection
	Heartbeat,    // the server was silent for too long
	Timeout,      // a request was not answered in time
	Completion,   // a work request failed
	Post,	      // a work request could not be posted
	Malformed,    // a message of the server that breaks the protocol
	Stray,	      // a response, or another message, that nothing waited for; ignored
	Answer,	      // a request that the server answered with an error
	Lost,	      // a request that ended because its path failed and no other took it
	Count,
};

constexpr u32 kPathErrors = static_cast<u32>(PathError::Count);

constexpr const char *to_text(PathError e)
{
	switch (e) {
	case PathError::Connect:
		return "connect";
	case PathError::Disconnected:
		return "disconnected";
	case PathError::Heartbeat:
		return "heartbeat";
	case PathError::Timeout:
		return "timeout";
	case PathError::Completion:
		return "completion";
	case PathError::Post:
		return "post";
	case PathError::Malformed:
		return "malformed";
	case PathError::Stray:
		return "stray";
	case PathError::Answer:
		return "answer";
	case PathError::Lost:
		return "lost";
	case PathError::Count:
		break;
	}
	return "?";
}

} // namespace rtrs
