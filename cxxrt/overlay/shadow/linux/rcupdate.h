/* SPDX-License-Identifier: GPL-2.0 */
/* The C macros name the type *(p) *, but p may be a void pointer. */
#pragma GCC system_header

#include_next <linux/rcupdate.h>
#undef __unrcu_pointer
#define __unrcu_pointer(p, local) ({ auto local = (p); local; })
#undef __rcu_access_pointer
#define __rcu_access_pointer(p, local, space) ({ auto local = READ_ONCE(p); local; })
#undef __rcu_dereference_check
#define __rcu_dereference_check(p, local, c, space) ({ \
	auto local = READ_ONCE(p); \
	RCU_LOCKDEP_WARN(!(c), "suspicious rcu_dereference_check() usage"); \
	local; })
#undef __rcu_dereference_protected
#define __rcu_dereference_protected(p, local, c, space) ({ \
	RCU_LOCKDEP_WARN(!(c), "suspicious rcu_dereference_protected() usage"); \
	(__typeof__(p))(p); })
#undef __rcu_dereference_raw
#define __rcu_dereference_raw(p, local) ({ auto local = READ_ONCE(p); local; })
#undef RCU_INITIALIZER
#define RCU_INITIALIZER(v) (v)
