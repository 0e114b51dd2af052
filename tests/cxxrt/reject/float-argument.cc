// SPDX-License-Identifier: GPL-2.0
// expect: SSE register
// expect arm64: floating-point
#include <cxxrt/kernel.hh>

double twice(double value)
{
	return value * 2;
}
