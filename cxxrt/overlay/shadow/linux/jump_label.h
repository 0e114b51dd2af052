/* SPDX-License-Identifier: GPL-2.0 */
/* Designators for all members of a list or for none; none inside of the braces of another. */
#pragma GCC system_header

#include_next <linux/jump_label.h>
#ifdef CONFIG_JUMP_LABEL
#undef STATIC_KEY_INIT_TRUE
#define STATIC_KEY_INIT_TRUE { .enabled = { 1 }, .type = JUMP_TYPE_TRUE }
#undef STATIC_KEY_INIT_FALSE
#define STATIC_KEY_INIT_FALSE { .enabled = { 0 }, .type = JUMP_TYPE_FALSE }
#endif
