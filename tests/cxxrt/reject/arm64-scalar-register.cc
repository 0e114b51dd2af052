// SPDX-License-Identifier: GPL-2.0
// expect: SIMD or floating-point registers
#include <cxxrt/kernel.hh>

void move()
{
	asm volatile("fmov d8, x1");
}
