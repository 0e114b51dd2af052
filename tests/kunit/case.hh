// SPDX-License-Identifier: GPL-2.0
// Cases of KUnit suites in C++.
#pragma once

#include <cxxrt/kernel.hh>

#include "case.h"

// Defines a case that a list of cases declares; without being listed it would never run.
#define CASE(name)                                                 \
	static_assert(__is_same(decltype(::name), void(kunit *))); \
	CXXRT_FOR_C void name([[maybe_unused]] kunit *test)

// True if it holds. Otherwise the case has failed and goes on.
#define EXPECT(condition) \
	((condition)      \
	     ? true       \
	     : (kunit_case_failed(test, kbasename(__FILE__), __LINE__, #condition), false))
// For integers.
#define EXPECT_EQ(left, right)                                                                \
	kunit_testing::expect_equal(test, kbasename(__FILE__), __LINE__, #left " == " #right, \
				    static_cast<long long>(left), static_cast<long long>(right))
// Leaves the case, a function without result, if it does not hold.
#define REQUIRE(condition)              \
	do {                            \
		if (!EXPECT(condition)) \
			return;         \
	} while (0)

namespace kunit_testing {

inline bool expect_equal(kunit *test, const char *file, int line, const char *text, long long left,
			 long long right)
{
	if (left == right)
		return true;
	kunit_case_unequal(test, file, line, text, left, right);
	return false;
}

} // namespace kunit_testing
