/* SPDX-License-Identifier: GPL-2.0 */
/* PG_##private must not become PG_private_: this one header sees the word as it is. */
#pragma GCC system_header

#undef private
#include_next <linux/page-flags.h>
#define private private_
