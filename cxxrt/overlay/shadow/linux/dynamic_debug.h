/* SPDX-License-Identifier: GPL-2.0 */
/* Designators in the order of the members, and none nested: .key.dd_key_false is no C++. */
#pragma GCC system_header

#include_next <linux/dynamic_debug.h>
#if defined(CONFIG_JUMP_LABEL)
#undef _DPRINTK_KEY_INIT
#ifdef DEBUG
#define _DPRINTK_KEY_INIT .key = { .dd_key_true = STATIC_KEY_TRUE_INIT }
#else
#define _DPRINTK_KEY_INIT .key = { .dd_key_false = STATIC_KEY_FALSE_INIT }
#endif
#endif
#ifdef DEFINE_DYNAMIC_DEBUG_METADATA_CLS
#undef DEFINE_DYNAMIC_DEBUG_METADATA_CLS
#define DEFINE_DYNAMIC_DEBUG_METADATA_CLS(name, cls, fmt)	\
	static struct _ddebug  __aligned(8)			\
	__section("__dyndbg") name = {				\
		.modname = KBUILD_MODNAME,			\
		.function = __func__,				\
		.filename = __FILE__,				\
		.format = (fmt),				\
		.lineno = __LINE__,				\
		.class_id = cls,				\
		.flags = _DPRINTK_FLAGS_DEFAULT,		\
		_DPRINTK_KEY_INIT				\
	}
#endif
