// SPDX-License-Identifier: GPL-2.0
// expect: SIMD or floating-point registers
#include <cxxrt/kernel.hh>

void clear()
{
	asm volatile("movi v31.16b, #0");
}
