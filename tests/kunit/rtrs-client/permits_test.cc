// SPDX-License-Identifier: GPL-2.0
// The slots of messages that belong to no block request (protocol B.4).
#include <rtrs/client/permits.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;
using rtrs::client::Permits;

CASE(permits_have_one_holder)
{
	constexpr u32 kPermits = 2;
	constexpr u32 kThreads = 5;
	Permits permits;
	permits.provide(kPermits);
	int holders[kPermits] = {};
	u32 wrong = 0;
	u32 failed = 0;
	REQUIRE(side_by_side<kThreads>([&](unsigned int) {
		for (int round = 0; round < 200; round++) {
			const Result<Slot> slot = permits.take();
			if (!slot.ok() || slot.value().value >= kPermits) {
				__atomic_fetch_add(&failed, 1u, __ATOMIC_SEQ_CST);
				continue;
			}
			int &here = holders[slot.value().value];
			if (__atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST) != 1)
				__atomic_fetch_add(&wrong, 1u, __ATOMIC_SEQ_CST);
			breathe();
			__atomic_sub_fetch(&here, 1, __ATOMIC_SEQ_CST);
			permits.put(slot.value());
		}
	}));
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(failed, 0);
	EXPECT(permits.try_take().ok() && permits.try_take().ok());
	EXPECT_EQ(permits.try_take().code(), -EBUSY);
	permits.put(Slot{0});
	permits.put(Slot{1});
}

CASE(permits_wake_who_waits)
{
	Permits permits;
	permits.provide(1);
	const Result<Slot> mine = permits.try_take();
	REQUIRE(mine.ok());
	u32 got = 99;
	int killed = 1;
	{
		Thread waiter([&] {
			const Result<Slot> slot = permits.take();
			got = slot.ok() ? slot.value().value : 77;
		});
		Thread impatient([&] {
			allow_signal(SIGKILL);
			killed = permits.take().code();
		});
		REQUIRE(impatient.start(1));
		schedule_timeout_uninterruptible(3);
		EXPECT(!impatient.done());
		send_sig(SIGKILL, impatient.task(), 1);
		EXPECT(impatient.wait_done().ok());
		const bool started = waiter.start(0);
		schedule_timeout_uninterruptible(3);
		EXPECT(!waiter.done());
		permits.put(mine.value());
		REQUIRE(started);
		EXPECT(waiter.wait_done().ok());
	}
	EXPECT_EQ(killed, -EINTR);
	EXPECT_EQ(got, 0);
	permits.put(Slot{0});
}

CASE(permits_all_back_waits_for_each)
{
	Permits permits;
	permits.provide(2);
	EXPECT(permits.try_take().ok() && permits.try_take().ok());
	Thread waiter([&] { permits.wait_all_back(); });
	const bool started = waiter.start(0);
	schedule_timeout_uninterruptible(3);
	EXPECT(!waiter.done());
	permits.put(Slot{1});
	schedule_timeout_uninterruptible(3);
	EXPECT(!waiter.done());
	permits.put(Slot{0});
	REQUIRE(started);
	EXPECT(waiter.wait_done().ok());
}
