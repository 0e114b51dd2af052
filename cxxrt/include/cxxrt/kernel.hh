// SPDX-License-Identifier: GPL-2.0
// The kernel's headers for C++ code: the only way in. Which headers, is listed in
// <cxxrt/overlay/headers.h>; a further kernel header is added there, never included from a module's
// source. Identifiers that are C++ keywords end in an underscore (dev->class_).
#pragma GCC system_header
#ifndef CXXRT_KERNEL_HH
#define CXXRT_KERNEL_HH

#include <cxxrt/overlay/begin.h>
#include <cxxrt/overlay/headers.h>
#include <cxxrt/overlay/end.h>

#include <cxxrt/new.hh>

// Before the definition of a function that is called by C: from the module's C file, by an export.
// Others are local to the unit, whatever their headers say, and the module does not link with a
// call of one.
#define CXXRT_FOR_C extern "C" __attribute__((externally_visible))

#endif
