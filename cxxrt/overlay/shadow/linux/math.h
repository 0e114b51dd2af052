/* SPDX-License-Identifier: GPL-2.0 */
/* A chain of __builtin_choose_expr() with results of several types. */
#pragma GCC system_header

#include_next <linux/math.h>
#undef abs
#define abs(x) ::cxxrt::overlay::absolute(x)
