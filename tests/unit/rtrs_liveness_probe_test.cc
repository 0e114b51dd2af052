// SPDX-License-Identifier: GPL-2.0
// When a connection counts as dead: never by the age of a request alone.
#include <rtrs/pure/liveness_probe.hh>

using namespace rtrs;

namespace {

using Next = LivenessProbe::Next;
constexpr u64 kLimit = 60;

} // namespace

TEST(LivenessProbe, AsksOnlyWhenARequestIsLate)
{
	LivenessProbe p;
	for (u64 now = 0; now < 1000; now += 5)
		EXPECT_EQ(p.look(false, now / 10, now, kLimit), Next::Wait);
	EXPECT_EQ(p.look(true, 100, 1000, kLimit), Next::Ask);
}

// A disk that takes for hours: the connection answers each time.
TEST(LivenessProbe, LivesAsLongAsItAnswers)
{
	LivenessProbe p;
	u64 sent = 7;
	for (u64 now = 0; now < 100 * kLimit;) {
		ASSERT_EQ(p.look(true, sent, now, kLimit), Next::Ask);
		p.asked(sent + 1);
		ASSERT_EQ(p.look(true, sent, now += 5, kLimit), Next::Wait) << "one at a time";
		sent++;
		ASSERT_EQ(p.look(true, sent, now += 5, kLimit), Next::Lives);
	}
}

TEST(LivenessProbe, DeadWithoutAnAnswer)
{
	LivenessProbe p;
	EXPECT_EQ(p.look(true, 7, 100, kLimit), Next::Ask);
	p.asked(9);
	EXPECT_EQ(p.look(true, 7, 100 + kLimit - 1, kLimit), Next::Wait);
	EXPECT_EQ(p.look(true, 7, 100 + kLimit, kLimit), Next::Dead);
}

// A long queue on a slow link: the question is behind much else.
TEST(LivenessProbe, WhatIsBeforeTheQuestionCounts)
{
	LivenessProbe p;
	EXPECT_EQ(p.look(true, 0, 0, kLimit), Next::Ask);
	p.asked(10);
	for (u64 sent = 1; sent < 10; sent++)
		EXPECT_EQ(p.look(true, sent, sent * (kLimit - 1), kLimit), Next::Wait);
	EXPECT_EQ(p.look(true, 10, 10 * kLimit, kLimit), Next::Lives);
}

TEST(LivenessProbe, FullQueue)
{
	LivenessProbe p;
	EXPECT_EQ(p.look(true, 5, 0, kLimit), Next::Ask);
	EXPECT_EQ(p.look(true, 5, 5, kLimit), Next::Ask) << "there was no room";
	EXPECT_EQ(p.look(true, 6, kLimit, kLimit), Next::Ask) << "but it moves";
	EXPECT_EQ(p.look(true, 6, 2 * kLimit - 1, kLimit), Next::Ask);
	EXPECT_EQ(p.look(true, 6, 2 * kLimit, kLimit), Next::Dead);
}

// The request was answered meanwhile, and the question is still under way: no reason to end a path,
// and none to ask once more.
TEST(LivenessProbe, NothingIsLateAnyMore)
{
	LivenessProbe p;
	EXPECT_EQ(p.look(true, 0, 0, kLimit), Next::Ask);
	p.asked(1);
	EXPECT_EQ(p.look(false, 0, 2 * kLimit, kLimit), Next::Wait);
	EXPECT_EQ(p.look(true, 0, 3 * kLimit - 1, kLimit), Next::Wait) << "since the last look";
	EXPECT_EQ(p.look(true, 0, 3 * kLimit, kLimit), Next::Dead);
}

// A server that always has receives is asked early; whoever wants it earlier still is obeyed.
TEST(LifeLimits, DependOnWhoAnswers)
{
	constexpr u64 kSecond = 1000000000;
	const auto is = [](const LifeLimits &l, u64 late, u64 dead) {
		return l.late == late * kSecond && l.dead == dead * kSecond;
	};
	EXPECT_TRUE(is(life_limits(60 * kSecond, true), 5, 10));
	EXPECT_TRUE(is(life_limits(7 * kSecond, true), 5, 7));
	EXPECT_TRUE(is(life_limits(2 * kSecond, true), 2, 2));
	for (const u64 seconds : {2, 60, 3600})
		EXPECT_TRUE(is(life_limits(seconds * kSecond, false), seconds, seconds));
}

// Of when it moved last, not of when it was asked.
TEST(LivenessProbe, KeepsTheMarkOfTheLastMove)
{
	LivenessProbe p;
	EXPECT_EQ(p.look(true, 5, 0, kLimit, 10), Next::Ask);
	EXPECT_EQ(p.mark(), 10u);
	p.asked(9);
	EXPECT_EQ(p.look(true, 5, 1, kLimit, 11), Next::Wait);
	EXPECT_EQ(p.mark(), 10u);
	EXPECT_EQ(p.look(true, 6, 2, kLimit, 12), Next::Wait);
	EXPECT_EQ(p.mark(), 12u) << "one has completed";
	EXPECT_EQ(p.look(true, 6, 3, kLimit, 13), Next::Wait);
	EXPECT_EQ(p.look(true, 6, 2 + kLimit, kLimit, 40), Next::Dead);
	EXPECT_EQ(p.mark(), 12u);
}
