// SPDX-License-Identifier: GPL-2.0
// expect: a local static that is initialized at run time
#include <cxxrt/kernel.hh>

int ask();

int answer()
{
	static int first = ask();
	return first;
}
