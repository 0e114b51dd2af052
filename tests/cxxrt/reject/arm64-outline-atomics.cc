// SPDX-License-Identifier: GPL-2.0
// expect: a call of an atomic helper
#include <cxxrt/kernel.hh>

#pragma GCC target("outline-atomics")
unsigned add(unsigned *to)
{
	return __atomic_fetch_add(to, 1u, __ATOMIC_ACQ_REL);
}
