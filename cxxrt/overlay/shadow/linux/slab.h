/* SPDX-License-Identifier: GPL-2.0 */
/* Since 6.12 a _Generic chooses between two forms of the fourth argument. C++ has the older one. */
#pragma GCC system_header

#include_next <linux/slab.h>
#ifdef kmem_cache_create
#undef kmem_cache_create
#define kmem_cache_create(name, size, align, flags, ctor) \
	kmem_cache_create_usercopy(name, size, align, flags, 0, 0, ctor)
#endif
