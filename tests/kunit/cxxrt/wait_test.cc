// SPDX-License-Identifier: GPL-2.0
// Who waits, wakes, or is told to give up.
#include <cxxrt/wait.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

// Waits for `left` threads that are certain to come to it; false if they do not.
bool reaches(const u32 &value, u32 wanted)
{
	for (int i = 0; i < 500; i++) {
		if (__atomic_load_n(&value, __ATOMIC_SEQ_CST) >= wanted)
			return true;
		schedule_timeout_uninterruptible(1);
	}
	return false;
}

// What a wait returns that nothing ends but a signal; it is sent when the waiter is about to sleep.
template <class F> int killed(F wait)
{
	bool ready = false;
	int code = 1;
	Thread waiter([&] {
		allow_signal(SIGKILL);
		__atomic_store_n(&ready, true, __ATOMIC_SEQ_CST);
		code = wait().code();
	});
	if (!waiter.start(0))
		return 1;
	while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST))
		schedule_timeout_uninterruptible(1);
	send_sig(SIGKILL, waiter.task(), 1);
	(void)waiter.wait_done();
	return code;
}

} // namespace

CASE(wait_all_sleepers_wake)
{
	constexpr u32 kSleepers = 3;
	WaitQueue queue(cxxrt::lock_class<"kunit sleepers">());
	Completion done;
	bool open = false;
	u32 asleep = 0;
	u32 awake = 0;
	u32 released = 0;
	bool came = false;
	bool left = false;
	u32 early = 0;
	REQUIRE(side_by_side<kSleepers + 1>([&](unsigned int i) {
		if (i < kSleepers) {
			__atomic_fetch_add(&asleep, 1u, __ATOMIC_SEQ_CST);
			queue.wait([&] { return __atomic_load_n(&open, __ATOMIC_SEQ_CST); });
			__atomic_fetch_add(&awake, 1u, __ATOMIC_SEQ_CST);
			done.wait();
			__atomic_fetch_add(&released, 1u, __ATOMIC_SEQ_CST);
			return;
		}
		came = reaches(asleep, kSleepers);
		// A wake-up without the condition wakes nobody.
		queue.wake_all();
		schedule_timeout_uninterruptible(2);
		early = __atomic_load_n(&awake, __ATOMIC_SEQ_CST);
		__atomic_store_n(&open, true, __ATOMIC_SEQ_CST);
		queue.wake_all();
		left = reaches(awake, kSleepers);
		done.complete();
	}));
	EXPECT(came);
	EXPECT_EQ(early, 0);
	EXPECT(left);
	EXPECT_EQ(released, kSleepers);
}

CASE(wait_does_not_end_before_its_time)
{
	constexpr unsigned long kPause = HZ / 20 + 2;
	WaitQueue queue(cxxrt::lock_class<"kunit pause">());
	Completion never;
	unsigned long begin = jiffies;
	EXPECT_EQ(queue.wait_for(kPause, [] { return false; }).code(), -ETIMEDOUT);
	EXPECT(time_after_eq(jiffies, begin + kPause));
	begin = jiffies;
	EXPECT_EQ(never.wait_for(kPause).code(), -ETIMEDOUT);
	EXPECT(time_after_eq(jiffies, begin + kPause));
	begin = jiffies;
	EXPECT_EQ(never.wait_killable_for(kPause).code(), -ETIMEDOUT);
	EXPECT(time_after_eq(jiffies, begin + kPause));
}

CASE(wait_killable_ends_by_a_fatal_signal)
{
	WaitQueue queue(cxxrt::lock_class<"kunit killed">());
	Completion never;
	EXPECT_EQ(killed([&] { return queue.wait_killable([] { return false; }); }), -EINTR);
	EXPECT_EQ(killed([&] { return never.wait_killable(); }), -EINTR);
	EXPECT_EQ(killed([&] { return never.wait_killable_for(kLong); }), -EINTR);
	// What has come already is no reason to give up.
	Completion there;
	there.complete();
	EXPECT_EQ(killed([&] { return there.wait_killable_for(kLong); }), 0);
}

CASE(wait_completion_stays_done)
{
	Completion done;
	EXPECT(!done.done());
	done.complete();
	for (int i = 0; i < 3; i++) {
		EXPECT(done.done());
		done.wait();
		EXPECT(done.wait_for(1).ok());
	}
	done.complete();
	EXPECT(done.done());
}
