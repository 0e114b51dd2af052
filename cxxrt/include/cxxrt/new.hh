// SPDX-License-Identifier: GPL-2.0
// operator new over the kernel's allocator. Part of <cxxrt/kernel.hh>.
//
//	T *t = new (GFP_KERNEL) T(args);		null if there is no memory
//	T *t = new (GFP_KERNEL, node) T(args);		memory of a NUMA node
//	T *t = new (place) T(args);			in memory that exists
//	delete t;					kfree()
//
// A plain `new T` does not build (there is no such operator to link with, and the check of the
// object says so). Neither does `new (gfp) T[n]`: its size arithmetic and its hidden element count
// are not checked; arrays are cxxrt::Array of <cxxrt/memory.hh>.
//
// Types that are aligned to more than kmalloc() promises for any size get their size rounded up to
// a power of two, for which kmalloc() returns naturally aligned memory.
#pragma once

// Not a circle: kernel.hh includes this file at its end.
#include <cxxrt/kernel.hh>

namespace std {
enum class align_val_t : decltype(sizeof(0)) {};
}

namespace cxxrt::detail {
inline size_t aligned_size(size_t size, std::align_val_t align)
{
	size_t least = static_cast<size_t>(align);
	return roundup_pow_of_two(size > least ? size : least);
}
} // namespace cxxrt::detail

[[gnu::always_inline]] inline void *operator new(size_t size, gfp_t gfp) noexcept
{
	return kmalloc(size, gfp);
}

[[gnu::always_inline]] inline void *operator new(size_t size, gfp_t gfp, int node) noexcept
{
	return kmalloc_node(size, gfp, node);
}

[[gnu::always_inline]] inline void *operator new(size_t size, std::align_val_t align,
						 gfp_t gfp) noexcept
{
	return kmalloc(cxxrt::detail::aligned_size(size, align), gfp);
}

[[gnu::always_inline]] inline void *operator new(size_t size, std::align_val_t align, gfp_t gfp,
						 int node) noexcept
{
	return kmalloc_node(cxxrt::detail::aligned_size(size, align), gfp, node);
}

[[gnu::always_inline]] inline void *operator new(size_t, void *place) noexcept
{
	return place;
}

[[gnu::always_inline]] inline void *operator new(size_t, std::align_val_t, void *place) noexcept
{
	return place;
}

void *operator new[](size_t, gfp_t) = delete;
void *operator new[](size_t, gfp_t, int) = delete;

// Defined by the runtime object that the build links into each module.
void operator delete(void *p) noexcept;
void operator delete(void *p, size_t) noexcept;
void operator delete(void *p, std::align_val_t) noexcept;
void operator delete(void *p, size_t, std::align_val_t) noexcept;
