// SPDX-License-Identifier: GPL-2.0
// expect: operator new without gfp flags
#include <cxxrt/kernel.hh>

int *make()
{
	return new int(1);
}
