// SPDX-License-Identifier: GPL-2.0
// Locks and Guarded.
#include <cxxrt/guarded.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

void mutex_holds(Case &t)
{
	Mutex lock(cxxrt::lock_class<"selftest mutex">());
	{
		LockGuard<Mutex> held(lock);
		lock.assert_held();
		EXPECT(!lock.try_acquire());
	}
	EXPECT(lock.try_acquire());
	lock.release(0);
}

// With PREEMPT_RT they are threads, which wait for the lock.
constexpr bool kInterruptsOff = !IS_ENABLED(CONFIG_PREEMPT_RT);

void spin_lock_is_atomic(Case &t)
{
	SpinLock outer(cxxrt::lock_class<"selftest outer">());
	SpinLock inner(cxxrt::lock_class<"selftest inner">());
	EXPECT(!irqs_disabled());
	{
		LockGuard<SpinLock> held(outer);
		outer.assert_held();
		EXPECT(irqs_disabled() == kInterruptsOff);
		{
			LockGuard<SpinLock> both(inner);
		}
		EXPECT(irqs_disabled() == kInterruptsOff);
	}
	EXPECT(!irqs_disabled());
}

struct Pair {
	int reads;
	int writes;
};

int read_once_locked(Guarded<Pair, SpinLock> &guarded)
{
	return guarded.with([](Pair &c) {
		c.reads++;
		return c.reads + c.writes;
	});
}

void guarded_data(Case &t)
{
	Guarded<Pair, SpinLock> guarded(cxxrt::lock_class<"selftest counters">(), 1, 10);
	EXPECT(read_once_locked(guarded) == 12);
	EXPECT(read_once_locked(guarded) == 13);
	guarded.with([&t](Pair &) { EXPECT(irqs_disabled() == kInterruptsOff); });
	EXPECT(guarded.exclusive().reads == 3);
}

constexpr Test kLockTests[] = {
    {"a mutex is held for the scope", mutex_holds},
    {"a spin lock keeps interrupts off, nested too", spin_lock_is_atomic},
    {"guarded data is reached under its lock", guarded_data},
};

} // namespace

namespace selftest {
constinit const Suite lock_suite("locks", kLockTests);
}
