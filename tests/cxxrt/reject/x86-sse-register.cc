// SPDX-License-Identifier: GPL-2.0
// expect: SSE or x87 registers
#include <cxxrt/kernel.hh>

void clear()
{
	asm volatile("xorps %xmm0, %xmm0");
}
