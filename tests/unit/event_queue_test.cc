// SPDX-License-Identifier: GPL-2.0
// Which events a device that the system falls behind with still tells.
#include <cxxrt/event_queue.hh>

using namespace cxxrt;

namespace {

enum class Kind : u8 { Down, Up, Resized };
using Queue = EventQueue<Kind, 5>;

std::string told(Queue queue)
{
	std::string text;
	for (Kind kind; queue.take(kind);)
		text += "dur"[static_cast<int>(kind)];
	return text;
}

Queue with(const std::string &events)
{
	Queue queue;
	for (char c : events)
		queue.add(static_cast<Kind>(std::string("dur").find(c)));
	return queue;
}

std::string last_of_each(const std::string &events)
{
	std::string last;
	for (std::size_t i = 0; i < events.size(); i++)
		if (events.find(events[i], i + 1) == std::string::npos)
			last += events[i];
	return last;
}

} // namespace

TEST(EventQueue, TellsAllThatHasRoom)
{
	EXPECT_EQ(told(with("")), "");
	EXPECT_EQ(told(with("dudud")), "dudud");
}

TEST(EventQueue, ForgetsTheOldestThatComesAgain)
{
	EXPECT_EQ(told(with("rdudud")), "rudud");
	EXPECT_EQ(told(with("rdududu")), "rdudu");
	EXPECT_EQ(told(with("dudur"
			    "r")),
		  "udurr");
}

TEST(EventQueue, GivesOutTheOldestAndHasRoomAgain)
{
	Queue queue = with("dudur");
	Kind kind{};
	ASSERT_TRUE(queue.take(kind));
	EXPECT_EQ(kind, Kind::Down);
	queue.add(Kind::Up);
	EXPECT_EQ(told(queue), "uduru");
	Queue none;
	EXPECT_FALSE(none.take(kind));
}

// Where all are different the oldest goes.
TEST(EventQueue, MoreKindsThanRoom)
{
	EventQueue<int, 2> queue;
	for (int i = 1; i <= 4; i++)
		queue.add(i);
	int event = 0;
	ASSERT_TRUE(queue.take(event));
	EXPECT_EQ(event, 3);
}

// The last one of each kind, in the order of these, whatever came before.
TEST(EventQueue, KeepsTheLastOfEachKind)
{
	for (u32 n = 0; n < 6561; n++) {
		std::string events;
		for (u32 i = 0, rest = n; i < 8; i++, rest /= 3)
			events += "dur"[rest % 3];
		EXPECT_EQ(last_of_each(told(with(events))), last_of_each(events)) << events;
	}
}
