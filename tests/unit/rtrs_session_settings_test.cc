// SPDX-License-Identifier: GPL-2.0
// What is said of a session before it is opened (protocol F.1).
#include <rtrs/pure/session_settings.hh>

using namespace rtrs;
using S = SessionSetting;

namespace {

// Of a session as it is.
int current(S setting)
{
	constexpr int kNow[] = {
	    static_cast<int>(Policy::MinInflight), -1, 60, 1000, 4, 0, 30, -1, 0};
	return kNow[static_cast<u32>(setting)];
}

} // namespace

TEST(SessionSettings, WhatIsNotSaidIsLeftToOthers)
{
	SessionSettings s;
	for (u32 i = 0; i < kSessionSettings; i++) {
		EXPECT_FALSE(s.has(static_cast<S>(i)));
		EXPECT_EQ(s.get(static_cast<S>(i), 77), 77);
	}
	EXPECT_TRUE(s.agree(current));
}

TEST(SessionSettings, EachIsWhatItsFileTakes)
{
	SessionSettings s;
	EXPECT_TRUE(s.say(S::Policy, "ML").ok());
	EXPECT_TRUE(s.say(S::ReconnectAttempts, "-1").ok());
	EXPECT_TRUE(s.say(S::RequestTimeout, "0").ok());
	EXPECT_TRUE(s.say(S::HeartbeatInterval, "100").ok());
	EXPECT_TRUE(s.say(S::HeartbeatMissed, "100").ok());
	EXPECT_TRUE(s.say(S::Connections, "1024").ok());
	EXPECT_TRUE(s.say(S::ReconnectDelay, "3600").ok());
	EXPECT_TRUE(s.say(S::TypeOfService, "255").ok());
	EXPECT_EQ(s.get(S::Policy, 77), static_cast<int>(Policy::MinLatency));
	EXPECT_EQ(s.get(S::ReconnectAttempts, 77), -1);
	EXPECT_EQ(s.get(S::RequestTimeout, 77), 0);
	EXPECT_EQ(s.get(S::HeartbeatInterval, 77), 100);
	EXPECT_EQ(s.get(S::HeartbeatMissed, 77), 100);
	EXPECT_EQ(s.get(S::Connections, 77), 1024);
	EXPECT_EQ(s.get(S::ReconnectDelay, 77), 3600);
	EXPECT_EQ(s.get(S::TypeOfService, 77), 255);
	EXPECT_TRUE(s.say(S::QueueDepth, "65535").ok());
	EXPECT_EQ(s.get(S::QueueDepth, 77), 65535);
	EXPECT_TRUE(s.say(S::QueueDepth, "8").ok());
	EXPECT_EQ(s.get(S::QueueDepth, 77), 8);
	EXPECT_TRUE(s.say(S::QueueDepth, "0").ok());
	EXPECT_EQ(s.get(S::QueueDepth, 77), 0);
	EXPECT_TRUE(s.say(S::ReconnectDelay, "1").ok());
	EXPECT_TRUE(s.say(S::TypeOfService, "-1").ok());
	EXPECT_EQ(s.get(S::ReconnectDelay, 77), 1);
	EXPECT_EQ(s.get(S::TypeOfService, 77), -1);
}

// Whatever is wrong, the mapping's option is, and what was said before holds.
TEST(SessionSettings, BadValuesAreInvalidAndChangeNothing)
{
	SessionSettings s;
	ASSERT_TRUE(s.say(S::RequestTimeout, "5").ok());
	for (const char *bad : {"", "x", "-1", "3601", "99999999999", "5 "})
		EXPECT_EQ(code(s.say(S::RequestTimeout, text(bad))), -22) << bad;
	EXPECT_EQ(s.get(S::RequestTimeout, 77), 5);
	EXPECT_EQ(code(s.say(S::Policy, "fastest")), -22);
	EXPECT_EQ(code(s.say(S::ReconnectAttempts, "-2")), -22);
	EXPECT_EQ(code(s.say(S::ReconnectAttempts, "10000")), -22);
	EXPECT_EQ(code(s.say(S::HeartbeatInterval, "99")), -22);
	EXPECT_EQ(code(s.say(S::HeartbeatInterval, "60001")), -22);
	EXPECT_EQ(code(s.say(S::HeartbeatMissed, "0")), -22);
	EXPECT_EQ(code(s.say(S::HeartbeatMissed, "101")), -22);
	EXPECT_EQ(code(s.say(S::Connections, "-1")), -22);
	EXPECT_EQ(code(s.say(S::Connections, "1025")), -22);
	EXPECT_EQ(code(s.say(S::ReconnectDelay, "0")), -22);
	EXPECT_EQ(code(s.say(S::ReconnectDelay, "3601")), -22);
	EXPECT_EQ(code(s.say(S::TypeOfService, "-2")), -22);
	EXPECT_EQ(code(s.say(S::TypeOfService, "256")), -22);
	const TextView depths[] = {"-1", "1", "7", "65536", "many"};
	for (const TextView depth : depths)
		EXPECT_EQ(code(s.say(S::QueueDepth, depth)), -22) << str(depth);
	for (S setting : {S::Policy, S::ReconnectAttempts, S::HeartbeatInterval, S::HeartbeatMissed,
			  S::Connections, S::ReconnectDelay, S::TypeOfService, S::QueueDepth})
		EXPECT_FALSE(s.has(setting));
	EXPECT_EQ(code(s.say(S::Count, "1")), -22);
}

TEST(SessionSettings, AnOpenSessionAgreesOrNot)
{
	SessionSettings same;
	ASSERT_TRUE(same.say(S::Policy, "min-inflight").ok());
	ASSERT_TRUE(same.say(S::ReconnectAttempts, "-1").ok());
	ASSERT_TRUE(same.say(S::RequestTimeout, "60").ok());
	ASSERT_TRUE(same.say(S::HeartbeatInterval, "1000").ok());
	ASSERT_TRUE(same.say(S::HeartbeatMissed, "4").ok());
	ASSERT_TRUE(same.say(S::Connections, "0").ok());
	ASSERT_TRUE(same.say(S::ReconnectDelay, "30").ok());
	ASSERT_TRUE(same.say(S::TypeOfService, "-1").ok());
	ASSERT_TRUE(same.say(S::QueueDepth, "0").ok());
	EXPECT_TRUE(same.agree(current));
	const TextView others[] = {"0", "7", "7", "101", "7", "7", "7", "7", "8"};
	for (u32 i = 0; i < kSessionSettings; i++) {
		SessionSettings other = same;
		ASSERT_TRUE(other.say(static_cast<S>(i), others[i]).ok());
		EXPECT_FALSE(other.agree(current)) << i;
	}
}
