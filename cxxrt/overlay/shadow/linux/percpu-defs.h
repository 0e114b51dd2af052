/* SPDX-License-Identifier: GPL-2.0 */
/* The C macros name the type *(p), but p may be a void pointer. */
#pragma GCC system_header

#include_next <linux/percpu-defs.h>

#ifdef SHIFT_PERCPU_PTR
#undef SHIFT_PERCPU_PTR
#define SHIFT_PERCPU_PTR(__p, __offset)                     \
	({                                                  \
		unsigned long __ptr;                        \
		__asm__("" : "=r"(__ptr) : "0"(__p));       \
		(__typeof__(__p))(__ptr + (__offset));      \
	})
#endif
#ifdef VERIFY_PERCPU_PTR
#undef VERIFY_PERCPU_PTR
#define VERIFY_PERCPU_PTR(__p)                \
	({                                    \
		__verify_pcpu_ptr(__p);       \
		(__typeof__(__p))(__p);       \
	})
#endif
#undef __verify_pcpu_ptr
#define __verify_pcpu_ptr(ptr)                                                  \
	do {                                                                    \
		const volatile void *__vpp_verify = (__typeof__(ptr))nullptr;   \
		(void)__vpp_verify;                                             \
	} while (0)
