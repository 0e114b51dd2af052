// SPDX-License-Identifier: GPL-2.0
// States of a path on the server (protocol B.2). Pure.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

enum class ServerPathState : u8 {
	Connecting, // initial
	Connected,
	Closing,
	Closed, // final
};

constexpr u32 kServerPathStates = 4;

// Whether `from` may become `to`.
constexpr bool transition_allowed(ServerPathState from, ServerPathState to)
{
	using S = ServerPathState;
	switch (to) {
	case S::Connecting:
		return false;
	case S::Connected:
		return from == S::Connecting;
	case S::Closing:
		return from == S::Connecting || from == S::Connected;
	case S::Closed:
		return from == S::Closing;
	}
	return false;
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
	}
	return "?";
}

} // namespace rtrs
