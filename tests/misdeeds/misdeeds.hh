// SPDX-License-Identifier: GPL-2.0
// Misdeeds: each is one mistake of the kind that one check of a debug kernel is there to find. They
// are written in C++ over cxxrt like the modules under test, and built by the same rules, so that
// an object that was not instrumented is noticed too.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>

#include "misdeeds.h"

namespace misdeeds {

struct Misdeed {
	const char *name; // as written into the parameter
	cxxrt::Status (*commit)();
};

struct List {
	const Misdeed *begin;
	unsigned int count;
};

extern const List memory_misdeeds;
extern const List lock_misdeeds;
extern const List object_misdeeds;

// Keeps from the compiler what it could find, or leave out, at build time.
template <class T> [[gnu::always_inline]] inline T hidden(T value)
{
	OPTIMIZER_HIDE_VAR(value);
	return value;
}

} // namespace misdeeds
