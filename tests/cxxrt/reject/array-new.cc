// SPDX-License-Identifier: GPL-2.0
// expect: use of deleted function
#include <cxxrt/kernel.hh>

int *make(unsigned int count)
{
	return new (GFP_KERNEL) int[count];
}
