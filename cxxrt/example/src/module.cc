// SPDX-License-Identifier: GPL-2.0
// The one global of the module, and its two entry points.
#include "clockwork.hh"

namespace {

// A pointer: nothing would run a destructor of a global.
constinit example::Clockwork *clockwork = nullptr;

} // namespace

CXXRT_FOR_C int example_start(const example_params *params)
{
	auto started = example::Clockwork::start(*params);
	if (!started.ok())
		return started.code();
	clockwork = started.take().release();
	return 0;
}

CXXRT_FOR_C void example_stop(void)
{
	delete clockwork;
}
