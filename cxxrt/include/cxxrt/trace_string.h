/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the C headers that define trace events: cxxrt_assign_str() is __assign_str() with its source,
 * which later kernels know from __string() already. Both must say the same.
 */
#ifndef CXXRT_TRACE_STRING_H
#define CXXRT_TRACE_STRING_H

#include <cxxrt/probes.h>

#if CXXRT_PROBE_assign_str_by_name
#define cxxrt_assign_str(name, source) __assign_str(name)
#else
#define cxxrt_assign_str(name, source) __assign_str(name, source)
#endif

#endif
