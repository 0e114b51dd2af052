// SPDX-License-Identifier: GPL-2.0
// A plug tells when its thread goes to sleep.
#include <cxxrt/plug.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

void count(void *calls)
{
	++*static_cast<int *>(calls);
}

void sleep()
{
	schedule_timeout_uninterruptible(1);
}

void tells_of_sleep(Case &t)
{
	int calls = 0;
	Plug plug(count, &calls);
	sleep();
	EXPECT(calls == 0);
	plug.watch();
	plug.watch();
	EXPECT(calls == 0);
	sleep();
	EXPECT(calls == 1);
	// Once for each watch().
	sleep();
	EXPECT(calls == 1);
	plug.watch();
	sleep();
	EXPECT(calls == 2);
}

void ends_without_a_word(Case &t)
{
	int calls = 0;
	{
		Plug plug(count, &calls);
		plug.watch();
	}
	sleep();
	EXPECT(calls == 0);
}

void inner_one_is_none(Case &t)
{
	int outer = 0;
	int inner = 0;
	Plug plug(count, &outer);
	plug.watch();
	{
		Plug second(count, &inner);
		second.watch();
		sleep();
	}
	EXPECT(outer == 1);
	EXPECT(inner == 0);
}

constexpr Test kPlugTests[] = {
    {"tells of sleep, once for each watch", tells_of_sleep},
    {"ends without a word", ends_without_a_word},
    {"inside of another one it is none", inner_one_is_none},
};

} // namespace

constinit const selftest::Suite selftest::plug_suite("plug", kPlugTests);
