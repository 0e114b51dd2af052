// SPDX-License-Identifier: GPL-2.0
// expect: exception handling disabled
#include <cxxrt/kernel.hh>

void fail()
{
	throw 1;
}
