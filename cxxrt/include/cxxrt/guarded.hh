// SPDX-License-Identifier: GPL-2.0
// Data inside its lock: a Guarded<T, Lock> gives out its T only to a callable that runs under the
// lock. The callable must not keep a pointer into T beyond its return, unless T's own rules
// (reference counts, RCU) allow it.
#pragma once

#include <cxxrt/lock.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

template <class T, class L> class Guarded {
public:
	template <class... Args>
	explicit Guarded(LockClass c, Args &&...args) : lock_(c), value_{forward<Args>(args)...}
	{
	}
	Guarded(const Guarded &) = delete;
	Guarded &operator=(const Guarded &) = delete;

	template <class F> decltype(auto) with(F &&f)
	{
		LockGuard<L> held(lock_);
		return f(value_);
	}

	// For the single owner at times when nobody else can reach the object: construction,
	// destruction, or after the last reference of all others was waited for.
	T &exclusive() { return value_; }

private:
	L lock_;
	T value_;
};

} // namespace cxxrt
