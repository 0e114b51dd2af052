// SPDX-License-Identifier: GPL-2.0
// What `run` puts into a copy of a pure header: many mutants lie in one program, and MUTANT in its
// environment says by its number which of them is alive. At compile time none is.
#pragma once

#include <cstdlib>

namespace mutants {

inline const int alive = [] {
	const char *number = std::getenv("MUTANT");
	return number ? std::atoi(number) : 0;
}();

constexpr bool is(int number)
{
	return __builtin_is_constant_evaluated() ? false : number == alive;
}

} // namespace mutants
