// SPDX-License-Identifier: GPL-2.0
// expect: a thread-local variable
#include <cxxrt/kernel.hh>

thread_local int calls = 1;

int count()
{
	return calls++;
}
