/* SPDX-License-Identifier: GPL-2.0 */
/* A chain of __builtin_choose_expr() with results of several types. */
#pragma GCC system_header

#include_next <asm/uaccess.h>
#undef __inttype
#define __inttype(x) __typeof__(::cxxrt::overlay::uint_like((__typeof__(x) *)nullptr))
