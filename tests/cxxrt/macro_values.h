/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parity of layouts says nothing about what macros and inline functions of the kernel mean in C++.
 * macro_values.inc computes a row of values with those that the overlay replaces or patches; it is
 * compiled as C and as C++, and the rows must be equal.
 */
#ifndef CXXRT_MACRO_VALUES_H
#define CXXRT_MACRO_VALUES_H

enum { MACRO_VALUES_MAX = 160 };

struct macro_values {
	unsigned int count;
	unsigned long long value[MACRO_VALUES_MAX];
	const char *name[MACRO_VALUES_MAX];
};

#endif
