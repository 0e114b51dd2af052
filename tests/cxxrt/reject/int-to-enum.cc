// SPDX-License-Identifier: GPL-2.0
// expect: invalid conversion
#include <cxxrt/kernel.hh>

enum Kind { kOne, kTwo };

Kind kind(int number)
{
	return number;
}
