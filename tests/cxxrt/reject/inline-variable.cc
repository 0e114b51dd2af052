// SPDX-License-Identifier: GPL-2.0
// expect: semantics of inline variable
#include <cxxrt/kernel.hh>

inline constexpr int kLimit = 7;

const int *limit()
{
	return &kLimit;
}
