// SPDX-License-Identifier: GPL-2.0
// expect: x87 register
#include <cxxrt/kernel.hh>

void scale(long double *value)
{
	*value *= 3;
}
