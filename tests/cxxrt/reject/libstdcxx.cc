// SPDX-License-Identifier: GPL-2.0
// expect: a call of the C++ runtime
#include <cxxrt/kernel.hh>

namespace std {
void terminate();
}

void stop()
{
	std::terminate();
}
