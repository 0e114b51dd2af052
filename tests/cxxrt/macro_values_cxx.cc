// SPDX-License-Identifier: GPL-2.0
#include <cxxrt/kernel.hh>

#include "selftest.h"

#define MACRO_VALUES cxxrt_macro_values_cxx
#include "macro_values.inc"
