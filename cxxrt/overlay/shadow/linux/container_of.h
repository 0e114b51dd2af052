/* SPDX-License-Identifier: GPL-2.0 */
/* A void pointer has no *(ptr), nor arithmetic. container_of_const() is a _Generic. */
#pragma GCC system_header

#include_next <linux/container_of.h>
#undef container_of
#define container_of(ptr, type, member) ({				\
	static_assert(::cxxrt::overlay::points_to((__typeof__(ptr))nullptr,	\
			(__typeof__(((type *)0)->member) *)nullptr),	\
		      "pointer type mismatch in container_of()");	\
	(type *)((char *)(ptr) - offsetof(type, member)); })
#undef container_of_const
#define container_of_const(ptr, type, member)				\
	((__typeof__(::cxxrt::overlay::copy_const<type>((__typeof__(ptr))nullptr)))	\
	 container_of(ptr, type, member))
