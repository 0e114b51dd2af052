/* SPDX-License-Identifier: GPL-2.0 */
/* The C form declares a struct with a static assertion inside sizeof. */
#pragma GCC system_header

#include_next <linux/compiler.h>
#ifdef __BUILD_BUG_ON_ZERO_MSG
#undef __BUILD_BUG_ON_ZERO_MSG
#define __BUILD_BUG_ON_ZERO_MSG(e, msg, ...) ((int)sizeof(char[1 - 2 * !!(e)]) - 1)
#endif
