// SPDX-License-Identifier: GPL-2.0
// expect: a call of the C++ runtime
#include <cxxrt/kernel.hh>

extern "C" int __cxa_atexit(void (*)(void *), void *, void *);

int later(void (*f)(void *))
{
	return __cxa_atexit(f, nullptr, nullptr);
}
