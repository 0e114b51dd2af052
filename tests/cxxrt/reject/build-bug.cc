// SPDX-License-Identifier: GPL-2.0
// expect: BUILD_BUG_ON() failed
#include <cxxrt/kernel.hh>

void assert_size()
{
	BUILD_BUG_ON(sizeof(list_head) == 16);
}
