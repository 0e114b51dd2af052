// SPDX-License-Identifier: GPL-2.0
// expect: invalid conversion
#include <cxxrt/kernel.hh>

void clear(const char *text)
{
	char *writable = text;
	*writable = 0;
}
