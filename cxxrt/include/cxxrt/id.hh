// SPDX-License-Identifier: GPL-2.0
// Small numbers for things: IdAllocator hands out unused ones; IdMap finds objects by number.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

// Lowest free number. The caller gives each number back before the allocator dies.
class IdAllocator {
public:
	IdAllocator() { ida_init(&ida_); }
	~IdAllocator() { ida_destroy(&ida_); }
	IdAllocator(const IdAllocator &) = delete;
	IdAllocator &operator=(const IdAllocator &) = delete;

	// A number in [0, max]. ENOSPC when all are in use, ENOMEM. May sleep.
	Result<u32> allocate(u32 max)
	{
		const int id = ida_alloc_max(&ida_, max, GFP_KERNEL);
		if (id < 0)
			return Error::from_code(id);
		return static_cast<u32>(id);
	}
	// Any context.
	void free(u32 id) { ida_free(&ida_, id); }

private:
	ida ida_;
};

// Number → object, own numbers from 0. Look-ups are lock-free under RCU; the map owns nothing.
template <class T> class IdMap {
public:
	IdMap() { xa_init_flags(&xa_, XA_FLAGS_ALLOC); }
	~IdMap()
	{
		unsigned long first = 0;
		WARN_ON(xa_find(&xa_, &first, ULONG_MAX, XA_PRESENT));
		xa_destroy(&xa_);
	}
	IdMap(const IdMap &) = delete;
	IdMap &operator=(const IdMap &) = delete;

	// Stores `object` under the next free number in [0, max], in a circle: a number that was
	// given back is given out again as late as can be. EBUSY when all are in use, ENOMEM. May
	// sleep. Callers take turns.
	Result<u32> insert(T *object, u32 max)
	{
		u32 id = 0;
		const xa_limit limit{.max = max, .min = 0};
		const int code = xa_alloc_cyclic(&xa_, &id, object, limit, &next_, GFP_KERNEL);
		if (code < 0)
			return Error::from_code(code);
		return id;
	}
	// Sets that number aside, without an object. As insert().
	Result<u32> reserve(u32 max) { return insert(nullptr, max); }
	// The object of a number that was set aside.
	void fill(u32 id, T *object) { xa_store(&xa_, id, object, GFP_KERNEL); }
	// Under RcuReader or a lock that keeps the objects. Null if there is none.
	T *find(u32 id) { return static_cast<T *>(xa_load(&xa_, id)); }
	// The object that was there, or null: of several callers exactly one gets it.
	T *remove(u32 id) { return static_cast<T *>(xa_erase(&xa_, id)); }
	// Like remove() for an object that is known, but the number stays in use, without an
	// object, until it is removed or the map dies. False if somebody else took the object.
	bool retire(u32 id, T *object)
	{
		return xa_cmpxchg(&xa_, id, object, XA_ZERO_ENTRY, GFP_KERNEL) == object;
	}
	// No number in use.
	bool empty() const { return xa_empty(&xa_); }

	// Moves `id` on to the lowest number in use from it on. Null if there is none. As find().
	T *next(u32 &id)
	{
		unsigned long index = id;
		void *entry = xa_find(&xa_, &index, U32_MAX, XA_PRESENT);
		if (entry)
			id = static_cast<u32>(index);
		return static_cast<T *>(entry);
	}
	// f(id, object) for all; removal inside is allowed.
	template <class F> void for_each(F &&f)
	{
		unsigned long index = 0;
		for (void *entry = xa_find(&xa_, &index, ULONG_MAX, XA_PRESENT); entry;
		     entry = xa_find_after(&xa_, &index, ULONG_MAX, XA_PRESENT))
			f(static_cast<u32>(index), static_cast<T *>(entry));
	}

private:
	xarray xa_;
	u32 next_ = 0;
};

} // namespace cxxrt
