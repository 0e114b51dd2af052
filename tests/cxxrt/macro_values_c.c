// SPDX-License-Identifier: GPL-2.0
#include <cxxrt/overlay/headers.h>

#include "selftest.h"

#define MACRO_VALUES cxxrt_macro_values_c
#include "macro_values.inc"
