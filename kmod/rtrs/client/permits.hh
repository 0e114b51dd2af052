// SPDX-License-Identifier: GPL-2.0
// The slots of messages that belong to no block request: the first few of the session's queue, so
// that they and the tags of the block layer never compete (protocol B.4).
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/wait.hh>
#include <rtrs/wire/units.hh>

namespace rtrs::client {

// How many of a queue's slots are permits. 0: the queue can't be split. Users keep some for what
// may not wait behind the rest, so there are three wherever there is room.
constexpr u32 permit_count(QueueDepth depth)
{
	if (depth.value >= 64)
		return 6;
	if (depth.value >= 8)
		return 3;
	return depth.value >= 2 ? 1 : 0;
}

class Permits {
public:
	// Once, before the first take. Count as permit_count().
	void provide(u32 count) { count_ = count; }

	// EBUSY if all are taken. Any context.
	Result<Slot> try_take()
	{
		for (u32 i = 0; i < count_; i++)
			if (!test_and_set_bit_lock(i, &taken_))
				return Slot{i};
		return err::ebusy;
	}
	// Sleeps until there is one; EINTR on a fatal signal.
	Result<Slot> take()
	{
		u32 slot = 0;
		TRY(changed_.wait_killable([&] {
			const Result<Slot> r = try_take();
			if (r.ok())
				slot = r.value().value;
			return r.ok();
		}));
		return Slot{slot};
	}
	// Any context.
	void put(Slot slot)
	{
		if (WARN_ON_ONCE(slot.value >= count_))
			return;
		const cxxrt::LockGuard<cxxrt::SpinLock> held(putting_);
		clear_bit_unlock(slot.value, &taken_);
		// The waker must not miss a sleeper that saw the bit set.
		smp_mb__after_atomic();
		changed_.wake_all();
	}
	// Sleeps until all are back. Then nobody is here any more, and the permits may go.
	void wait_all_back()
	{
		changed_.wait([this] { return READ_ONCE(taken_) == 0; });
		// The thread that put the last one back may still be waking waiters.
		const cxxrt::LockGuard<cxxrt::SpinLock> held(putting_);
	}

private:
	unsigned long taken_ = 0;
	u32 count_ = 0;
	// Around the end of a permit and its wake.
	cxxrt::SpinLock putting_{cxxrt::lock_class<"rtrs_permits_put">()};
	cxxrt::WaitQueue changed_{cxxrt::lock_class<"rtrs_permits">()};
};

} // namespace rtrs::client
