// SPDX-License-Identifier: GPL-2.0
// Locks and the guard that holds one for a scope.
//
// A lock is constructed with lock_class<"name">(): lockdep takes all locks of one name, made in one
// translation unit, for one class.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

struct LockClass {
	const char *name;
	lock_class_key *key;
};

template <usize N> struct LockName {
	char text[N];
	constexpr LockName(const char (&name)[N])
	{
		for (usize i = 0; i < N; i++)
			text[i] = name[i];
	}
};

// In an anonymous namespace for its static data, which must be local to the translation unit.
namespace {
template <LockName kName> LockClass lock_class()
{
	static constexpr LockName name = kName;
	static constinit lock_class_key key;
	return {name.text, &key};
}
} // namespace

// Sleeping lock.
class Mutex {
public:
	explicit Mutex(LockClass c) { __mutex_init(&mutex_, c.name, c.key); }
	~Mutex() { mutex_destroy(&mutex_); }
	Mutex(const Mutex &) = delete;
	Mutex &operator=(const Mutex &) = delete;

	using Saved = int;
	Saved acquire()
	{
		mutex_lock(&mutex_);
		return 0;
	}
	void release(Saved) { mutex_unlock(&mutex_); }
	[[nodiscard]] bool try_acquire() { return mutex_trylock(&mutex_); }
	void assert_held() const { lockdep_assert_held(&mutex_); }

private:
	mutex mutex_;
};

// Spinning lock that any context may take, hard interrupts included. With PREEMPT_RT interrupts
// are threads, and who waits for it sleeps; so no handler that stays a hard interrupt there may.
class SpinLock {
public:
	explicit SpinLock([[maybe_unused]] LockClass c)
	{
#ifdef CONFIG_PREEMPT_RT
		rt_mutex_base_init(&lock_.lock);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
		__rt_spin_lock_init(&lock_, c.name, c.key, false);
#endif
#elif defined(CONFIG_DEBUG_SPINLOCK)
		__raw_spin_lock_init(spinlock_check(&lock_), c.name, c.key, LD_WAIT_CONFIG);
#else
		spin_lock_init(&lock_);
#endif
	}
	SpinLock(const SpinLock &) = delete;
	SpinLock &operator=(const SpinLock &) = delete;

	using Saved = unsigned long;
	Saved acquire()
	{
		unsigned long flags;
		spin_lock_irqsave(&lock_, flags);
		return flags;
	}
	void release(Saved flags) { spin_unlock_irqrestore(&lock_, flags); }
	void assert_held() const { lockdep_assert_held(&lock_); }

private:
	spinlock_t lock_;
};

template <class L> class [[nodiscard]] LockGuard {
public:
	explicit LockGuard(L &lock) : lock_(lock), saved_(lock.acquire()) {}
	~LockGuard() { lock_.release(saved_); }
	LockGuard(const LockGuard &) = delete;
	LockGuard &operator=(const LockGuard &) = delete;

private:
	L &lock_;
	typename L::Saved saved_;
};

} // namespace cxxrt
