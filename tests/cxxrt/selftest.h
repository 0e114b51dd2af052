/* SPDX-License-Identifier: GPL-2.0 */
/* What the C and the C++ files of the self-test have in common. */
#ifndef CXXRT_SELFTEST_H
#define CXXRT_SELFTEST_H

#include "macro_values.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs all tests and tells in the kernel log, as KTAP: 0, or -EINVAL if one failed. May sleep. */
int cxxrt_selftest_run(void);

/* The same source compiled as C and as C++; see macro_values.h. */
void cxxrt_macro_values_c(struct macro_values *out);
void cxxrt_macro_values_cxx(struct macro_values *out);

#ifdef __cplusplus
}
#endif

#endif
