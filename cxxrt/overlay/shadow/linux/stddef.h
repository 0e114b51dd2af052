/* SPDX-License-Identifier: GPL-2.0 */
/*
 * false and true are keywords: the header's enum gets other names. NULL must be a null pointer
 * constant for any pointer. A flexible array cannot be a member of a union; a zero-length one can.
 * Later kernels give groups of members no tag in C++, which would make other types of them.
 */
#pragma GCC system_header

#define false __c_false
#define true __c_true
#include_next <linux/stddef.h>
#undef false
#undef true
#undef NULL
#define NULL nullptr
#ifdef __struct_group_tag
#undef __struct_group_tag
#define __struct_group_tag(TAG) TAG
#endif
#undef __DECLARE_FLEX_ARRAY
#define __DECLARE_FLEX_ARRAY(TYPE, NAME) TYPE NAME[0]
