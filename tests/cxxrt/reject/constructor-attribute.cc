// SPDX-License-Identifier: GPL-2.0
// expect: a constructor or destructor function
#include <cxxrt/kernel.hh>

int calls;

extern "C" __attribute__((constructor)) void at_start(void)
{
	calls++;
}
