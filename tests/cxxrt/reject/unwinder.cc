// SPDX-License-Identifier: GPL-2.0
// expect: a call of the C++ runtime
#include <cxxrt/kernel.hh>

extern "C" void _Unwind_Resume(void *);

void resume(void *state)
{
	_Unwind_Resume(state);
}
