/* SPDX-License-Identifier: GPL-2.0 */
/*
 * __builtin_choose_expr() is a conditional in C++, so the check of variable bits would not be a
 * constant: no check of the order of the bits.
 */
#pragma GCC system_header

#include_next <linux/bits.h>
#undef GENMASK_INPUT_CHECK
#define GENMASK_INPUT_CHECK(h, l) 0
