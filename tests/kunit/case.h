/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where KUnit, whose macros are C, and cases in C++ meet. A module has one C file, which includes
 * suites.h and defines the functions below; its C++ files include case.hh.
 */
#ifndef KUNIT_CASE_H
#define KUNIT_CASE_H

struct kunit;

/* For lists of cases: #define FOO_CASES(CASE) CASE(foo_does_this) CASE(foo_does_that) */
#define KUNIT_DECLARE_CASE(name) void name(struct kunit *test);

#ifdef __cplusplus
extern "C" {
#endif

/* The case has failed, and goes on as far as it can. Any thread. */
void kunit_case_failed(struct kunit *test, const char *file, int line, const char *text);
void kunit_case_unequal(struct kunit *test, const char *file, int line, const char *text,
			long long left, long long right);
void kunit_case_skipped(struct kunit *test, const char *reason);

#ifdef __cplusplus
}
#endif

#endif
