/* SPDX-License-Identifier: GPL-2.0 */
/* The C form declares a bit-field inside sizeof. static_assert is a keyword. */
#pragma GCC system_header

#include_next <linux/build_bug.h>
#undef BUILD_BUG_ON_ZERO
#define BUILD_BUG_ON_ZERO(e) ((int)sizeof(char[1 - 2 * !!(e)]) - 1)
#undef static_assert
#undef __static_assert
