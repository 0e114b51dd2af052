/* SPDX-License-Identifier: GPL-2.0 */
/* typedef _Bool bool would redeclare a keyword. */
#pragma GCC system_header

#define bool __c_bool
#undef _Bool
#define _Bool decltype(1 == 1)
#include_next <linux/types.h>
#undef bool
#undef _Bool
#define _Bool bool
