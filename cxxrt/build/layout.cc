// SPDX-License-Identifier: GPL-2.0
// The C++ side of the comparison of layouts: a system header has to be included to be one.
#include <cxxrt/kernel.hh>
