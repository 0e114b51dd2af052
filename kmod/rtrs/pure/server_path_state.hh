// SPDX-License-Identifier: GPL-2.0
// States of a path on the server (protocol B.2). Pure.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

enum class ServerPathState : u8 {
	Connecting, // initial, but for who has to prove first
	Connected,
	Closing,
	Closed,	  // final
	Applying, // initial: challenged, and in no session (protocol J.3)
};

constexpr u32 kServerPathStates = 5;

// Whether `from` may become `to`.
constexpr bool transition_allowed(ServerPathState from, ServerPathState to)
{
	using S = ServerPathState;
	switch (to) {
	case S::Applying:
		return false;
	case S::Connecting:
		return from == S::Applying;
	case S::Connected:
		return from == S::Connecting;
	case S::Closing:
		return from == S::Applying || from == S::Connecting || from == S::Connected;
	case S::Closed:
		return from == S::Closing;
	}
	return false;
}

// Nothing of the path goes on.
constexpr bool is_over(ServerPathState s)
{
	return s == ServerPathState::Closing || s == ServerPathState::Closed;
}

// For logs.
constexpr const char *to_text(ServerPathState s)
{
	switch (s) {
	case ServerPathState::Connecting:
		return "connecting";
	case ServerPathState::Connected:
		return "connected";
	case ServerPathState::Closing:
		return "closing";
	case ServerPathState::Closed:
		return "closed";
	case ServerPathState::Applying:
		return "applying";
	}
	return "?";
}

} // namespace rtrs
