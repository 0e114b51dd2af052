/* SPDX-License-Identifier: GPL-2.0 */
/* For the one C file of a module with suites: lists of cases become what KUnit runs. */
#ifndef KUNIT_SUITES_H
#define KUNIT_SUITES_H

#include <kunit/test.h>
#include <linux/module.h>

#include "case.h"

#define KUNIT_LIST_CASE(name) KUNIT_CASE(name),

/* `cases` is a macro that lists the cases, as in case.h. */
#define KUNIT_SUITE(suite, cases)                                              \
	static struct kunit_case suite##_cases[] = {cases(KUNIT_LIST_CASE){}}; \
	static struct kunit_suite suite = {                                    \
	    .name = #suite,                                                    \
	    .test_cases = suite##_cases,                                       \
	}

/*
 * Not KUnit's assertions: these end the thread, and no destructor of C++ would run. The text is
 * short, for KUnit keeps 512 bytes for each case.
 */
void kunit_case_failed(struct kunit *test, const char *file, int line, const char *text)
{
	kunit_err(test, "%s:%d: does not hold: %s", file, line, text);
	kunit_set_failure(test);
}

void kunit_case_unequal(struct kunit *test, const char *file, int line, const char *text,
			long long left, long long right)
{
	kunit_err(test, "%s:%d: not equal: %s: %lld, %lld", file, line, text, left, right);
	kunit_set_failure(test);
}

void kunit_case_skipped(struct kunit *test, const char *reason)
{
	kunit_mark_skipped(test, "%s", reason);
}

MODULE_LICENSE("GPL");

#endif
