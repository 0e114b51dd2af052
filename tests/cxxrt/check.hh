// SPDX-License-Identifier: GPL-2.0
// Just enough of a test framework: a suite is a table of named functions that get a Case.
#pragma once

#include <cxxrt/kernel.hh>

namespace selftest {

class Case {
public:
	// A test goes on after a failure, as far as it can.
	void expect(bool holds, const char *file, int line, const char *text)
	{
		if (holds)
			return;
		failed_ = true;
		pr_info("# %s:%d: does not hold: %s\n", file, line, text);
	}
	void skip(const char *reason) { skipped_ = reason; }

	bool failed() const { return failed_; }
	const char *skipped() const { return skipped_; }

private:
	bool failed_ = false;
	const char *skipped_ = nullptr;
};

struct Test {
	const char *name;
	void (*run)(Case &t);
};

struct Suite {
	const char *name;
	const Test *tests;
	unsigned int count;

	template <unsigned int N>
	constexpr Suite(const char *n, const Test (&t)[N]) : name(n), tests(t), count(N)
	{
	}
};

extern const Suite language_suite;
extern const Suite macro_suite;
extern const Suite memory_suite;
extern const Suite sharing_suite;
extern const Suite lock_suite;
extern const Suite work_suite;
extern const Suite lookup_suite;
extern const Suite sysfs_suite;
extern const Suite plug_suite;
extern const Suite disk_suite;
extern const Suite secret_suite;
extern const Suite file_suite;

} // namespace selftest

#define EXPECT(condition) t.expect(!!(condition), kbasename(__FILE__), __LINE__, #condition)
