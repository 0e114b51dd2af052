// SPDX-License-Identifier: GPL-2.0
// expect: a static variable of an inline function or template
#include <cxxrt/kernel.hh>

inline int *counter()
{
	static int count;
	return &count;
}

int *shared_counter()
{
	return counter();
}
