// SPDX-License-Identifier: GPL-2.0
// States of a path on the client (protocol B.1). Pure.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

enum class ClientPathState : u8 {
	Connecting, // initial
	Connected,
	ConnectingError,
	Reconnecting,
	Closing,
	Closed,
	Dead, // final
};

constexpr u32 kClientPathStates = 7;

namespace detail {
constexpr u32 state_bit(ClientPathState s)
{
	return 1u << static_cast<u32>(s);
}
} // namespace detail

// Protocol B.1.1: whether `from` may become `to`.
constexpr bool transition_allowed(ClientPathState from, ClientPathState to)
{
	using S = ClientPathState;
	using detail::state_bit;
	u32 sources = 0;
	switch (to) {
	case S::Connecting:
		sources = state_bit(S::Reconnecting);
		break;
	case S::Connected:
	case S::ConnectingError:
		sources = state_bit(S::Connecting);
		break;
	case S::Reconnecting:
		sources =
		    state_bit(S::Connected) | state_bit(S::ConnectingError) | state_bit(S::Closed);
		break;
	case S::Closing:
		sources = state_bit(S::Connecting) | state_bit(S::ConnectingError) |
			  state_bit(S::Reconnecting) | state_bit(S::Connected);
		break;
	case S::Closed:
		sources = state_bit(S::Closing);
		break;
	case S::Dead:
		sources = state_bit(S::Closed);
		break;
	}
	return (sources & state_bit(from)) != 0;
}

// Where an error (CM, completion, heartbeat, malformed message) leads; the same state means that
// it is ignored (protocol B.1.2).
constexpr ClientPathState after_error(ClientPathState s)
{
	if (s == ClientPathState::Connected)
		return ClientPathState::Reconnecting;
	if (s == ClientPathState::Connecting)
		return ClientPathState::ConnectingError;
	return s;
}

// What happens to the RDMA port that a path used last.
enum class PortEvent : u8 {
	Down,	 // its cable is out
	Up,	 // it is in, or was all the time: some devices tell it twice
	Changed, // it has new addresses, or the device has just come
};

enum class PortReaction : u8 {
	None,
	Hurry,	 // end the pause before the next attempt
	Restart, // the running attempt asks in vain: begin the next
};

// A path that is connected is left to Session::leave_dead_ports(). `in_vain`: the port was down
// when the running attempt began or since, and it does not ask for an address just now, which it
// would find by itself. An attempt may be the one that somebody waits for who made the path
// (`was_up` false): it goes on.
constexpr PortReaction on_port_event(ClientPathState s, PortEvent event, bool in_vain, bool was_up)
{
	using S = ClientPathState;
	if (event == PortEvent::Down || !was_up)
		return PortReaction::None;
	if (s == S::Reconnecting)
		return PortReaction::Hurry;
	if (event == PortEvent::Up && in_vain && s == S::Connecting)
		return PortReaction::Restart;
	if (event == PortEvent::Up && s == S::ConnectingError)
		return PortReaction::Hurry;
	return PortReaction::None;
}

// For logs.
constexpr const char *to_text(ClientPathState s)
{
	switch (s) {
	case ClientPathState::Connecting:
		return "connecting";
	case ClientPathState::Connected:
		return "connected";
	case ClientPathState::ConnectingError:
		return "connecting failed";
	case ClientPathState::Reconnecting:
		return "reconnecting";
	case ClientPathState::Closing:
		return "closing";
	case ClientPathState::Closed:
		return "closed";
	case ClientPathState::Dead:
		return "dead";
	}
	return "?";
}

// For the sysfs attribute `state` (protocol F.1).
constexpr const char *to_sysfs(ClientPathState s)
{
	return s == ClientPathState::Connected ? "connected" : "disconnected";
}

// Whether reconnect attempt number `done` + 1 may be made; a negative limit means for ever
// (protocol B.1.2).
constexpr bool may_reconnect(u32 done, s32 max_attempts)
{
	return max_attempts < 0 || done < static_cast<u32>(max_attempts);
}

} // namespace rtrs
