// SPDX-License-Identifier: GPL-2.0
// State tables of paths (protocol B.1.1, B.2).
#include <rtrs/pure/client_path_state.hh>
#include <rtrs/pure/reconnect_backoff.hh>
#include <rtrs/pure/server_path_state.hh>

#include <set>
#include <utility>

using namespace rtrs;

TEST(ClientPathState, AllPairs)
{
	using S = ClientPathState;
	const std::set<std::pair<S, S>> legal = {
	    // {from, to}, row by row of the table
	    {S::Reconnecting, S::Connecting},
	    {S::Connecting, S::Connected},
	    {S::Connecting, S::ConnectingError},
	    {S::Connected, S::Reconnecting},
	    {S::ConnectingError, S::Reconnecting},
	    {S::Closed, S::Reconnecting},
	    {S::Connecting, S::Closing},
	    {S::ConnectingError, S::Closing},
	    {S::Reconnecting, S::Closing},
	    {S::Connected, S::Closing},
	    {S::Closing, S::Closed},
	    {S::Closed, S::Dead},
	};
	for (u32 from = 0; from < kClientPathStates; from++) {
		for (u32 to = 0; to < kClientPathStates; to++) {
			S f = static_cast<S>(from), t = static_cast<S>(to);
			EXPECT_EQ(transition_allowed(f, t), legal.count({f, t}) == 1)
			    << to_text(f) << " to " << to_text(t);
		}
	}
}

TEST(ClientPathState, Errors)
{
	using S = ClientPathState;
	for (u32 i = 0; i < kClientPathStates; i++) {
		S s = static_cast<S>(i);
		S next = after_error(s);
		if (s == S::Connected)
			EXPECT_EQ(next, S::Reconnecting);
		else if (s == S::Connecting)
			EXPECT_EQ(next, S::ConnectingError);
		else
			EXPECT_EQ(next, s);
		if (next != s) {
			EXPECT_TRUE(transition_allowed(s, next));
		}
	}
}

TEST(ClientPathState, Texts)
{
	using S = ClientPathState;
	std::set<std::string> texts;
	for (u32 i = 0; i < kClientPathStates; i++) {
		S s = static_cast<S>(i);
		texts.insert(to_text(s));
		EXPECT_STREQ(to_sysfs(s), s == S::Connected ? "connected" : "disconnected");
	}
	EXPECT_EQ(texts.size(), kClientPathStates);
}

TEST(ClientPathState, ReconnectLimit)
{
	EXPECT_FALSE(may_reconnect(0, 0));
	EXPECT_TRUE(may_reconnect(0, 1));
	EXPECT_FALSE(may_reconnect(1, 1));
	EXPECT_TRUE(may_reconnect(9998, 9999));
	EXPECT_FALSE(may_reconnect(9999, 9999));
	EXPECT_TRUE(may_reconnect(0xffffffff, -1));
}

TEST(ReconnectBackoff, DoublesUpToTheLongest)
{
	ReconnectBackoff backoff;
	for (u32 ms : {1000, 2000, 4000, 8000, 16000, 30000, 30000})
		EXPECT_EQ(backoff.next(30000, 0), ms);
	backoff.reset();
	EXPECT_EQ(backoff.next(30000, 0), 1000u);
	// The bound may change meanwhile.
	EXPECT_EQ(backoff.next(1500, 0), 1500u);
}

TEST(ReconnectBackoff, NeverShorterThanTheServerNeeds)
{
	ReconnectBackoff backoff;
	for (u32 i = 0; i < 40; i++)
		EXPECT_EQ(backoff.next(0, 0), kReconnectPauseMs);
}

TEST(ReconnectBackoff, AnHourIsNoOverflow)
{
	ReconnectBackoff backoff;
	u32 last = 0;
	for (u32 i = 0; i < 100; i++) {
		const u32 pause = backoff.next(3600000, 0);
		EXPECT_GE(pause, last);
		last = pause;
	}
	EXPECT_EQ(last, 3600000u);
}

TEST(ReconnectBackoff, ClientsComeBackOneByOne)
{
	ReconnectBackoff backoff;
	EXPECT_EQ(backoff.next(30000, 999), 1999u); // no more than the pause itself
	EXPECT_EQ(backoff.next(30000, 2000), 2000u);
	for (u32 i = 0; i < 10; i++)
		backoff.next(30000, 0);
	EXPECT_EQ(backoff.next(30000, 7999), 37999u); // and no more than 8 s
	EXPECT_EQ(backoff.next(30000, 0xffffffff), 30000 + 0xffffffff % 8000);
}

TEST(ReconnectBackoff, NobodyWhoAnswersIsNoReasonToWait)
{
	ReconnectBackoff backoff;
	for (u32 i = 0; i < 5; i++)
		EXPECT_EQ(backoff.next_unanswered(0), 250u);
	EXPECT_EQ(backoff.next_unanswered(0xffffffff), 250 + 0xffffffff % 250);
	// And none for the next one.
	EXPECT_EQ(backoff.next(30000, 0), 1000u);
}

TEST(AnswerTimeout, GrowsToTheTimeout)
{
	AnswerTimeout timeout;
	for (u32 i = 0; i < 6; i++)
		EXPECT_EQ(timeout.next(), 1500u);
	for (u32 ms : {3000, 6000, 12000, 24000, 30000, 30000})
		EXPECT_EQ(timeout.next(), ms);
	timeout.reset();
	EXPECT_EQ(timeout.next(), 1500u);
}

TEST(PortEvents, EveryState)
{
	using S = ClientPathState;
	using E = PortEvent;
	using R = PortReaction;
	for (u32 i = 0; i < kClientPathStates; i++) {
		const S s = static_cast<S>(i);
		for (E event : {E::Down, E::Up, E::Changed}) {
			for (bool was_down : {false, true}) {
				R want = R::None;
				if (s == S::Reconnecting && event != E::Down)
					want = R::Hurry;
				if (s == S::ConnectingError && event == E::Up)
					want = R::Hurry;
				if (s == S::Connecting && event == E::Up && was_down)
					want = R::Restart;
				EXPECT_EQ(on_port_event(s, event, was_down, true), want)
				    << to_text(s) << static_cast<int>(event);
				// Who made the path waits for its first attempt.
				EXPECT_EQ(on_port_event(s, event, was_down, false), R::None);
			}
		}
	}
}

TEST(ServerPathState, AllPairs)
{
	using S = ServerPathState;
	const std::set<std::pair<S, S>> legal = {
	    {S::Applying, S::Connecting}, {S::Applying, S::Closing},  {S::Connecting, S::Connected},
	    {S::Connecting, S::Closing},  {S::Connected, S::Closing}, {S::Closing, S::Closed},
	};
	std::set<std::string> texts;
	for (u32 from = 0; from < kServerPathStates; from++) {
		texts.insert(to_text(static_cast<S>(from)));
		// Whoever can still connect is not over, nor is he who has.
		EXPECT_EQ(is_over(static_cast<S>(from)),
			  !transition_allowed(static_cast<S>(from), S::Closing));
		for (u32 to = 0; to < kServerPathStates; to++) {
			S f = static_cast<S>(from), t = static_cast<S>(to);
			EXPECT_EQ(transition_allowed(f, t), legal.count({f, t}) == 1)
			    << to_text(f) << " to " << to_text(t);
		}
	}
	EXPECT_EQ(texts.size(), kServerPathStates);
}

TEST(AddressTimeout, ShortFirstAndASecondAtMost)
{
	AddressTimeout p;
	for (u32 ms : {100, 200, 400, 800, 1000, 1000})
		EXPECT_EQ(p.next(), ms);
}
