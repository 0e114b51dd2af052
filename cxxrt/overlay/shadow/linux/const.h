/* SPDX-License-Identifier: GPL-2.0 */
/* The C form tells the cases apart by the size of void. */
#pragma GCC system_header

#include_next <linux/const.h>
#undef __is_constexpr
#define __is_constexpr(x) __builtin_constant_p(x)
