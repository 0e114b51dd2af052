// SPDX-License-Identifier: GPL-2.0
// Which events a device that the system falls behind with still tells.
#include <rnbd/pure/event_queue.hh>

using namespace rnbd;

namespace {

enum class Kind : u8 { Down, Up, Resized };
using Queue = EventQueue<Kind, 3>;

std::string told(const Queue &queue)
{
	std::string text;
	for (u32 i = 0; i < queue.count(); i++)
		text += "dur"[static_cast<int>(queue[i])];
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
