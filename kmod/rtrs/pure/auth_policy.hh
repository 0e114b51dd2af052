// SPDX-License-Identifier: GPL-2.0
// Who has to prove what: the policies of both sides, and what follows of each pair (protocol J.3).
// Pure.
//
// The decisions are tables, so that all cases stand beside each other. `Optional` gives in to
// whoever is on the wire and takes the offer out; only `Required` does not.
#pragma once

#include <cxxrt/text.hh>
#include <rtrs/wire/private_data.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

enum class AuthPolicy : u8 {
	Off,
	Optional,
	Required,
};
constexpr u32 kAuthPolicies = 3;

// As the module parameter and the options of a session show it.
constexpr const char *to_text(AuthPolicy p)
{
	switch (p) {
	case AuthPolicy::Off:
		return "off";
	case AuthPolicy::Optional:
		return "optional";
	case AuthPolicy::Required:
		return "required";
	}
	return "?";
}

// One trailing newline may be there. EINVAL.
constexpr Result<AuthPolicy> parse_auth_policy(TextView text)
{
	text = cxxrt::trim_newline(text);
	for (u32 i = 0; i < kAuthPolicies; i++) {
		const AuthPolicy p = static_cast<AuthPolicy>(i);
		if (text == TextView::of(to_text(p)))
			return p;
	}
	return err::einval;
}

// What a session of the client wants, by what its map says: `said` is whether that has a policy,
// which is `policy` then; else `policy` is that of the module, and holds for sessions that name no
// key. A key that is named is named to be used: who means less says so. EINVAL for a key that
// nobody may use.
constexpr Result<AuthPolicy> session_policy(AuthPolicy policy, bool said, bool has_key)
{
	if (!has_key)
		return policy;
	if (policy == AuthPolicy::Off)
		return err::einval;
	return said ? policy : AuthPolicy::Required;
}

enum class AuthChoice : u8 {
	Plain,	// as if neither side knew of it
	Proof,	// offered, or taken up
	Refuse, // no connection
};

// What the client has, before it asks for a connection.
enum class ClientMeans : u8 {
	Nothing,     // no key was named, or the kernel has no algorithm
	Key,	     // and an algorithm
	KeyIsAbsent, // one was named, which the keyring does not have
};
constexpr u32 kClientMeans = 3;

// What it sends in REQ. A key that was named and is not there is never passed over: who named it
// wants it used. ENOKEY is what Refuse stands for, except for Off with a key, which no session has:
// the options of a map that say both are refused.
constexpr AuthChoice client_offer(AuthPolicy policy, ClientMeans means)
{
	using enum AuthChoice;
	constexpr AuthChoice kTable[kAuthPolicies][kClientMeans] = {
	    // Nothing  Key     KeyIsAbsent
	    {Plain, Plain, Plain},   // Off
	    {Plain, Proof, Refuse},  // Optional
	    {Refuse, Proof, Refuse}, // Required
	};
	return kTable[static_cast<u32>(policy)][static_cast<u32>(means)];
}

// What the server finds in REQ of cid 0.
enum class ClientWord : u8 {
	Silent,	    // nothing is offered
	OthersOnly, // algorithms that the server does not know
	Known,
};
constexpr u32 kClientWords = 3;

constexpr ClientWord client_word(const ConnectRequestFields &request)
{
	if (!request.authentication)
		return ClientWord::Silent;
	return request.algorithms & kKnownAlgorithms ? ClientWord::Known : ClientWord::OthersOnly;
}

// What the server answers. `able`: its kernel has the algorithm, and its keyring has a key; one
// that has none could prove nothing. Refuse is EPROTONOSUPPORT.
constexpr AuthChoice server_answer(AuthPolicy policy, bool able, ClientWord word)
{
	using enum AuthChoice;
	constexpr AuthChoice kTable[kAuthPolicies][kClientWords] = {
	    // Silent  OthersOnly  Known
	    {Plain, Plain, Plain},   // Off
	    {Plain, Plain, Proof},   // Optional
	    {Refuse, Refuse, Proof}, // Required
	};
	const AuthChoice choice = kTable[static_cast<u32>(policy)][static_cast<u32>(word)];
	if (choice == Proof && !able)
		return policy == AuthPolicy::Required ? Refuse : Plain;
	return choice;
}

// What the client does with REP of cid 0. `offered` is what client_offer() said, Plain or Proof;
// `proven`: a server has proven itself to this session once, over whichever path. Refuse is
// EPROTONOSUPPORT if the server did not take the offer up, and EPROTO if it took up what nobody had
// offered.
constexpr AuthChoice client_answer(AuthPolicy policy, AuthChoice offered, bool taken_up,
				   bool proven)
{
	if (taken_up)
		return offered == AuthChoice::Proof ? AuthChoice::Proof : AuthChoice::Refuse;
	return policy == AuthPolicy::Required || proven ? AuthChoice::Refuse : AuthChoice::Plain;
}

// Whether that gave up a proof which the client had offered.
constexpr bool is_downgrade(AuthChoice offered, AuthChoice answer)
{
	return offered == AuthChoice::Proof && answer == AuthChoice::Plain;
}

} // namespace rtrs
