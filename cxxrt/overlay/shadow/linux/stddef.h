/* SPDX-License-Identifier: GPL-2.0 */
/*
 * false and true are keywords: the header's enum gets other names. NULL must be a null pointer
 * constant for any pointer. A flexible array cannot be a member of a union; a zero-length one can.
 */
#pragma GCC system_header

#define false __c_false
#define true __c_true
#include_next <linux/stddef.h>
#undef false
#undef true
#undef NULL
#define NULL nullptr
#undef __DECLARE_FLEX_ARRAY
#define __DECLARE_FLEX_ARRAY(TYPE, NAME) TYPE NAME[0]
