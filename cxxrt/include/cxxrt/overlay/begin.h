/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens a region of kernel headers; <cxxrt/overlay/end.h> closes it. No include guard: the two come
 * in pairs. The header that contains the region must say "#pragma GCC system_header" itself, since
 * the kernel's inline functions are full of things that C++ warns about.
 */
#pragma GCC system_header
#include <cxxrt/overlay/builtins.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnarrowing"
#include <cxxrt/overlay/keywords-on.h>
/* Not gnu_inline as in C: with it g++ never emits the out-of-line copy. */
#define inline inline __attribute__((__unused__)) __attribute__((__no_instrument_function__))
#define _Bool bool
extern "C" {
