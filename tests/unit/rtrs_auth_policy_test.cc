// SPDX-License-Identifier: GPL-2.0
// Policies of both sides and the exchange (protocol J.3).
#include <rtrs/pure/auth_exchange.hh>
#include <rtrs/pure/auth_policy.hh>

#include <map>
#include <set>
#include <utility>

using namespace rtrs;

namespace {

constexpr AuthPolicy kPolicies[] = {AuthPolicy::Off, AuthPolicy::Optional, AuthPolicy::Required};
constexpr ClientMeans kMeans[] = {ClientMeans::Nothing, ClientMeans::Key, ClientMeans::KeyIsAbsent};

// What becomes of a connection between two sides of this project.
AuthChoice outcome(AuthPolicy client, ClientMeans means, AuthPolicy server, bool able)
{
	const AuthChoice offered = client_offer(client, means);
	if (offered == AuthChoice::Refuse)
		return offered;
	const ClientWord word =
	    offered == AuthChoice::Proof ? ClientWord::Known : ClientWord::Silent;
	const AuthChoice answer = server_answer(server, able, word);
	if (answer == AuthChoice::Refuse)
		return answer;
	return client_answer(client, offered, answer == AuthChoice::Proof, false);
}

} // namespace

TEST(AuthPolicy, Texts)
{
	for (AuthPolicy p : kPolicies) {
		Result<AuthPolicy> r = parse_auth_policy(TextView::of(to_text(p)));
		ASSERT_TRUE(r.ok());
		EXPECT_EQ(r.value(), p);
	}
	EXPECT_EQ(parse_auth_policy("required\n").value(), AuthPolicy::Required);
	for (const char *bad : {"", "on", "Off", "optional ", "required\n\n", "0"})
		EXPECT_EQ(code(parse_auth_policy(TextView::of(bad))), err::einval.code()) << bad;
}

// Who names a key wants it used; less than that has to be said, by that very session.
TEST(AuthPolicy, OfSession)
{
	using enum AuthPolicy;
	const struct {
		AuthPolicy policy;
		bool said, has_key;
		int want; // an errno, or a policy
	} rows[] = {
	    // Without a key, what is said or what the module has.
	    {Off, false, false, static_cast<int>(Off)},
	    {Optional, false, false, static_cast<int>(Optional)},
	    {Required, false, false, static_cast<int>(Required)},
	    {Off, true, false, static_cast<int>(Off)},
	    {Optional, true, false, static_cast<int>(Optional)},
	    {Required, true, false, static_cast<int>(Required)},
	    {Off, false, true, err::einval.code()},
	    {Optional, false, true, static_cast<int>(Required)},
	    {Required, false, true, static_cast<int>(Required)},
	    {Off, true, true, err::einval.code()},
	    {Optional, true, true, static_cast<int>(Optional)},
	    {Required, true, true, static_cast<int>(Required)},
	};
	for (const auto &row : rows) {
		const Result<AuthPolicy> got = session_policy(row.policy, row.said, row.has_key);
		EXPECT_EQ(got.ok() ? static_cast<int>(got.value()) : got.code(), row.want)
		    << to_text(row.policy) << ' ' << row.said << ' ' << row.has_key;
	}
}

// Neither side of which one requires a proof ever goes on without.
TEST(AuthPolicy, RequiredIsNeverPlain)
{
	for (AuthPolicy client : kPolicies)
		for (ClientMeans means : kMeans)
			for (AuthPolicy server : kPolicies)
				for (bool able : {false, true}) {
					const AuthChoice got = outcome(client, means, server, able);
					if (client == AuthPolicy::Required ||
					    server == AuthPolicy::Required) {
						EXPECT_NE(got, AuthChoice::Plain);
					}
					const bool both = client != AuthPolicy::Off &&
							  server != AuthPolicy::Off && able &&
							  means == ClientMeans::Key;
					EXPECT_EQ(got == AuthChoice::Proof, both);
				}
}

TEST(AuthPolicy, OffIsAsWithoutIt)
{
	for (ClientMeans means : kMeans) {
		EXPECT_EQ(client_offer(AuthPolicy::Off, means), AuthChoice::Plain);
		for (bool able : {false, true})
			EXPECT_EQ(outcome(AuthPolicy::Off, means, AuthPolicy::Off, able),
				  AuthChoice::Plain);
	}
	for (ClientWord word : {ClientWord::Silent, ClientWord::OthersOnly, ClientWord::Known})
		EXPECT_EQ(server_answer(AuthPolicy::Off, true, word), AuthChoice::Plain);
}

TEST(AuthPolicy, NamedKeyIsNotPassedOver)
{
	EXPECT_EQ(client_offer(AuthPolicy::Optional, ClientMeans::KeyIsAbsent), AuthChoice::Refuse);
	EXPECT_EQ(client_offer(AuthPolicy::Optional, ClientMeans::Nothing), AuthChoice::Plain);
	EXPECT_EQ(client_offer(AuthPolicy::Required, ClientMeans::Nothing), AuthChoice::Refuse);
}

TEST(AuthPolicy, Server)
{
	using enum AuthChoice;
	const struct {
		AuthPolicy policy;
		bool able;
		AuthChoice silent, others, known;
	} rows[] = {
	    {AuthPolicy::Off, false, Plain, Plain, Plain},
	    {AuthPolicy::Off, true, Plain, Plain, Plain},
	    {AuthPolicy::Optional, false, Plain, Plain, Plain},
	    {AuthPolicy::Optional, true, Plain, Plain, Proof},
	    {AuthPolicy::Required, false, Refuse, Refuse, Refuse},
	    {AuthPolicy::Required, true, Refuse, Refuse, Proof},
	};
	for (const auto &row : rows) {
		EXPECT_EQ(server_answer(row.policy, row.able, ClientWord::Silent), row.silent);
		EXPECT_EQ(server_answer(row.policy, row.able, ClientWord::OthersOnly), row.others);
		EXPECT_EQ(server_answer(row.policy, row.able, ClientWord::Known), row.known);
	}
}

TEST(AuthPolicy, WordOfTheClient)
{
	ConnectRequestFields request{};
	EXPECT_EQ(client_word(request), ClientWord::Silent);
	request.algorithms = 1; // without the bit it says nothing
	EXPECT_EQ(client_word(request), ClientWord::Silent);
	request.authentication = true;
	EXPECT_EQ(client_word(request), ClientWord::Known);
	request.algorithms = 0xffff;
	EXPECT_EQ(client_word(request), ClientWord::Known);
	for (u16 algorithms : {0, 2, 0xfffe}) {
		request.algorithms = algorithms;
		EXPECT_EQ(client_word(request), ClientWord::OthersOnly);
	}
}

// Also by a server that is none of this project.
TEST(AuthPolicy, AnswerOfTheServer)
{
	using enum AuthChoice;
	for (AuthPolicy p : kPolicies)
		for (bool proven : {false, true}) {
			EXPECT_EQ(client_answer(p, Plain, true, proven), Refuse);
			EXPECT_EQ(client_answer(p, Proof, true, proven), Proof);
			const AuthChoice without =
			    p == AuthPolicy::Required || proven ? Refuse : Plain;
			EXPECT_EQ(client_answer(p, Proof, false, proven), without);
			EXPECT_EQ(client_answer(p, Plain, false, proven), without);
		}
}

// Only a proof that was offered can be given up.
TEST(AuthPolicy, Downgrade)
{
	using enum AuthChoice;
	for (AuthChoice offered : {Plain, Proof})
		for (AuthChoice answer : {Plain, Proof, Refuse})
			EXPECT_EQ(is_downgrade(offered, answer),
				  offered == Proof && answer == Plain);
}

TEST(ServerAuth, AllPairs)
{
	using S = ServerAuth;
	using E = ServerAuthEvent;
	const std::map<std::pair<S, E>, S> legal = {
	    {{S::Undecided, E::ChosePlain}, S::Plain},
	    {{S::Undecided, E::ChoseProof}, S::Challenged},
	    {{S::Plain, E::PlainInfo}, S::Plain},
	    {{S::Challenged, E::ProvenInfo}, S::Checking},
	    {{S::Checking, E::Right}, S::Proven},
	};
	for (u32 from = 0; from < kServerAuthStates; from++)
		for (u32 event = 0; event < kServerAuthEvents; event++) {
			const S s = static_cast<S>(from);
			const E e = static_cast<E>(event);
			const auto found = legal.find({s, e});
			EXPECT_EQ(after(s, e), found == legal.end() ? S::Refused : found->second)
			    << from << ' ' << event;
		}
}

// Who was challenged has no standing until the proof was right, whatever comes in whatever order.
TEST(ServerAuth, StandingNeedsTheProof)
{
	using S = ServerAuth;
	using E = ServerAuthEvent;
	std::set<std::pair<S, bool>> seen;
	auto walk = [&](auto &self, S state, bool proven) -> void {
		if (!seen.insert({state, proven}).second)
			return;
		if (state != S::Plain) {
			EXPECT_EQ(has_standing(state), proven && state == S::Proven);
		}
		for (u32 event = 0; event < kServerAuthEvents; event++) {
			const E e = static_cast<E>(event);
			if (state == S::Undecided && e == E::ChosePlain)
				continue;
			self(self, after(state, e), proven || e == E::Right);
		}
	};
	walk(walk, S::Undecided, false);
	EXPECT_FALSE(seen.count({S::Plain, false}) || seen.count({S::Plain, true}));
	EXPECT_TRUE(seen.count({S::Proven, true}));
	EXPECT_FALSE(seen.count({S::Proven, false}));
	EXPECT_TRUE(has_standing(S::Plain));
	for (S s : {S::Undecided, S::Plain, S::Checking, S::Proven, S::Refused})
		EXPECT_FALSE(expects_proof(s));
	EXPECT_TRUE(expects_proof(S::Challenged));
}

TEST(ClientAuth, AllPairs)
{
	using S = ClientAuth;
	using E = ClientAuthEvent;
	const std::map<std::pair<S, E>, S> legal = {
	    {{S::Undecided, E::SentPlain}, S::Plain}, {{S::Undecided, E::SentOffer}, S::Offered},
	    {{S::Plain, E::ReplyPlain}, S::Plain},    {{S::Offered, E::ReplyPlain}, S::Plain},
	    {{S::Offered, E::ReplyProof}, S::Agreed}, {{S::Agreed, E::SentProof}, S::Waiting},
	    {{S::Waiting, E::Right}, S::Believed},
	};
	for (u32 from = 0; from < kClientAuthStates; from++)
		for (u32 event = 0; event < kClientAuthEvents; event++) {
			const S s = static_cast<S>(from);
			const E e = static_cast<E>(event);
			const auto found = legal.find({s, e});
			EXPECT_EQ(after(s, e), found == legal.end() ? S::Refused : found->second)
			    << from << ' ' << event;
			const bool usable = s == S::Plain || s == S::Believed;
			EXPECT_EQ(may_use_keys(s), usable);
			EXPECT_EQ(owes_proof(s), s == S::Agreed);
		}
}
