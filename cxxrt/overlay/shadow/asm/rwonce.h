/* SPDX-License-Identifier: GPL-2.0 */
/* Copying a volatile struct (pte_t, ...) is no C++. */
#pragma GCC system_header

#include_next <asm/rwonce.h>
#undef __READ_ONCE
#define __READ_ONCE(x) ::cxxrt::overlay::read_once((const volatile __typeof__(x) *)&(x))
