// SPDX-License-Identifier: GPL-2.0
// How far the proof of one attempt of a path has come, on either side, and what that allows
// (protocol J.3, rules 1 and 2). Pure.
//
// An attempt has an exchange of its own and takes it with it. Refused is final, and so is what a
// side was told to prove: an event that is not expected refuses.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

enum class ServerAuth : u8 {
	Undecided, // initial: no REQ of cid 0 yet
	Plain,	   // nobody proves anything
	Challenged,
	Checking, // INFO_REQ with a tail is here
	Proven,
	Refused, // final
};
constexpr u32 kServerAuthStates = 6;

enum class ServerAuthEvent : u8 {
	ChosePlain, // the policies' choice, at REQ of cid 0
	ChoseProof,
	ChoseRefuse,
	PlainInfo,  // INFO_REQ as in A.4
	ProvenInfo, // INFO_REQ with a tail that could be parsed
	Right,	    // the MAC, and the key may use the name and the session
	Wrong,	    // any of these
	KeyGone,    // the key was removed, revoked, or has expired
};
constexpr u32 kServerAuthEvents = 8;

constexpr ServerAuth after(ServerAuth state, ServerAuthEvent event)
{
	using enum ServerAuthEvent;
	using S = ServerAuth;
	switch (state) {
	case S::Undecided:
		return event == ChosePlain   ? S::Plain
		       : event == ChoseProof ? S::Challenged
					     : S::Refused;
	case S::Plain:
		return event == PlainInfo ? S::Plain : S::Refused;
	case S::Challenged:
		return event == ProvenInfo ? S::Checking : S::Refused;
	case S::Checking:
		return event == Right ? S::Proven : S::Refused;
	case S::Proven:
	case S::Refused:
		return S::Refused;
	}
	return S::Refused;
}

// Whether the attempt may have a place in a session: chunks, regions, a name, files in sysfs. Also
// whether it may end others: paths of an earlier epoch, or an older attempt of its path.
constexpr bool has_standing(ServerAuth state)
{
	return state == ServerAuth::Plain || state == ServerAuth::Proven;
}

// How long the receive for INFO_REQ has to be: the other length is refused.
constexpr bool expects_proof(ServerAuth state)
{
	return state == ServerAuth::Challenged;
}

enum class ClientAuth : u8 {
	Undecided, // initial: REQ of cid 0 is not sent yet
	Plain,
	Offered,
	Agreed,	 // REP took the offer up
	Waiting, // INFO_REQ with its tail is sent
	Believed,
	Refused, // final
};
constexpr u32 kClientAuthStates = 7;

enum class ClientAuthEvent : u8 {
	SentPlain, // REQ of cid 0
	SentOffer,
	ReplyPlain, // what client_answer() makes of REP
	ReplyProof,
	ReplyRefuse,
	SentProof,
	Right, // the server's MAC
	Wrong, // or no tail at all
};
constexpr u32 kClientAuthEvents = 8;

constexpr ClientAuth after(ClientAuth state, ClientAuthEvent event)
{
	using enum ClientAuthEvent;
	using S = ClientAuth;
	switch (state) {
	case S::Undecided:
		return event == SentPlain ? S::Plain : event == SentOffer ? S::Offered : S::Refused;
	case S::Plain:
		return event == ReplyPlain ? S::Plain : S::Refused;
	case S::Offered:
		return event == ReplyProof   ? S::Agreed
		       : event == ReplyPlain ? S::Plain
					     : S::Refused;
	case S::Agreed:
		return event == SentProof ? S::Waiting : S::Refused;
	case S::Waiting:
		return event == Right ? S::Believed : S::Refused;
	case S::Believed:
	case S::Refused:
		return S::Refused;
	}
	return S::Refused;
}

// Whether keys of INFO_RSP may be used, and the path become CONNECTED.
constexpr bool may_use_keys(ClientAuth state)
{
	return state == ClientAuth::Plain || state == ClientAuth::Believed;
}

// Whether INFO_REQ needs a tail.
constexpr bool owes_proof(ClientAuth state)
{
	return state == ClientAuth::Agreed;
}

} // namespace rtrs
