// SPDX-License-Identifier: GPL-2.0
// expect: SSE or x87 registers
#include <cxxrt/kernel.hh>

void load()
{
	asm volatile("fld1");
}
