// SPDX-License-Identifier: GPL-2.0
// The few functions that the compiler calls by itself. The build puts one copy into each module.
#include <cxxrt/kernel.hh>

void operator delete(void *p) noexcept
{
	kfree(p);
}

void operator delete(void *p, size_t) noexcept
{
	kfree(p);
}

void operator delete(void *p, std::align_val_t) noexcept
{
	kfree(p);
}

void operator delete(void *p, size_t, std::align_val_t) noexcept
{
	kfree(p);
}

// A virtual function was called while the object was being built or torn down.
extern "C" void __cxa_pure_virtual(void);
extern "C" void __cxa_pure_virtual(void)
{
	BUG();
}

#ifdef CONFIG_KCSAN
// How g++ tells of the store of an object's table of virtual functions. KCSAN of the kernel,
// written for C, knows it as any other write.
extern "C" void __tsan_write8(void *place);
extern "C" void __tsan_vptr_update(void **place, void *)
{
	__tsan_write8(place);
}
#endif
