// SPDX-License-Identifier: GPL-2.0
#include "check.hh"
#include "selftest.h"

namespace {

using selftest::Case;
using selftest::Suite;
using selftest::Test;

constexpr const Suite *kSuites[] = {
    &selftest::language_suite, &selftest::macro_suite,	&selftest::memory_suite,
    &selftest::sharing_suite,  &selftest::lock_suite,	&selftest::work_suite,
    &selftest::lookup_suite,   &selftest::sysfs_suite,	&selftest::plug_suite,
    &selftest::disk_suite,     &selftest::secret_suite, &selftest::file_suite,
};

bool run(const Suite &suite, const Test &test, unsigned int number)
{
	Case t;
	test.run(t);
	pr_info("%s %u %s: %s%s%s\n", t.failed() ? "not ok" : "ok", number, suite.name, test.name,
		t.skipped() ? " # SKIP " : "", t.skipped() ?: "");
	return !t.failed();
}

} // namespace

CXXRT_FOR_C int cxxrt_selftest_run(void)
{
	unsigned int total = 0;
	for (const Suite *suite : kSuites)
		total += suite->count;
	pr_info("KTAP version 1\n");
	pr_info("1..%u\n", total);

	unsigned int number = 0;
	unsigned int failed = 0;
	for (const Suite *suite : kSuites)
		for (unsigned int i = 0; i < suite->count; i++)
			failed += !run(*suite, suite->tests[i], ++number);
	pr_info("# cxxrt-selftest: %u passed, %u failed\n", total - failed, failed);
	return failed ? -EINVAL : 0;
}
