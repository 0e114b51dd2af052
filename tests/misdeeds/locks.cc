// SPDX-License-Identifier: GPL-2.0
// For lockdep, the check of sleeping in atomic context, the hung-task detector and KCSAN.
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>

#include "misdeeds.hh"
#include "threads.hh"

using namespace cxxrt;
using misdeeds::hidden;

namespace {

struct Locks {
	Mutex left{cxxrt::lock_class<"misdeeds left">()};
	Mutex right{cxxrt::lock_class<"misdeeds right">()};
};

// No deadlock happens here: that the two orders exist is enough for lockdep.
Status lock_order()
{
	Box<Locks> locks = TRY(make_box<Locks>(GFP_KERNEL));
	{
		LockGuard first(locks->left);
		LockGuard second(locks->right);
	}
	LockGuard first(locks->right);
	LockGuard second(locks->left);
	return {};
}

// Taken with interrupts on, and in an interrupt's context elsewhere.
Status lock_irq()
{
	static constinit lock_class_key key;
	spinlock_t lock;
	spin_lock_init(&lock);
	lockdep_set_class(&lock, &key);
	auto take = [](void *taken) {
		spin_lock(static_cast<spinlock_t *>(taken));
		spin_unlock(static_cast<spinlock_t *>(taken));
	};
	take(&lock);
	misdeeds_as_interrupt(take, &lock);
	return {};
}

Status lock_freed()
{
	Locks *locks = new (GFP_KERNEL) Locks;
	if (!locks)
		return err::enomem;
	locks->left.acquire();
	// raw: without the destructor, which would complain first
	kfree(locks);
	return {};
}

Status rcu_unlocked()
{
	static constinit int *pointer;
	// raw: cxxrt's RcuPointer asks for a proof of the read side
	int *seen = rcu_dereference(pointer);
	(void)hidden(seen);
	return {};
}

Status sleep_in_atomic()
{
	SpinLock lock(cxxrt::lock_class<"misdeeds spin">());
	LockGuard held(lock);
	msleep(1);
	return {};
}

Status hang()
{
	schedule_timeout_uninterruptible(20 * HZ);
	return {};
}

// Both threads change one number without a word to the other.
Status race()
{
	int number = 0;
	int *shared = hidden(&number);
	auto count = [shared] {
		const unsigned long end = jiffies + 5 * HZ;
		while (time_before(jiffies, end)) {
			for (int i = 0; i < 10000; i++) {
				*shared += 1;
				barrier();
			}
			cond_resched();
		}
	};
	kunit_testing::Thread one(count);
	kunit_testing::Thread other(count);
	if (!one.start(0) || !other.start(1))
		return err::enomem;
	return {};
}

constexpr misdeeds::Misdeed kMisdeeds[] = {
    {"lock-order", lock_order},
    {"lock-irq", lock_irq},
    {"lock-freed", lock_freed},
    {"rcu-unlocked", rcu_unlocked},
    {"sleep-in-atomic", sleep_in_atomic},
    {"hang", hang},
    {"race", race},
};

} // namespace

constexpr misdeeds::List misdeeds::lock_misdeeds = {kMisdeeds, ARRAY_SIZE(kMisdeeds)};
