/* SPDX-License-Identifier: GPL-2.0 */
/* A _Generic. */
#pragma GCC system_header

#include_next <linux/bitfield.h>
#undef __unsigned_scalar_typeof
#define __unsigned_scalar_typeof(x)					\
	__typeof__(::cxxrt::overlay::uint_like((__typeof__(x) *)nullptr))
