// SPDX-License-Identifier: GPL-2.0
// Kernel macros and inline functions give C++ the values that they give C.
#include <cxxrt/memory.hh>

#include "check.hh"
#include "selftest.h"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

void same_values(Case &t)
{
	auto c = make_box<macro_values>(GFP_KERNEL);
	auto cxx = make_box<macro_values>(GFP_KERNEL);
	if (!c.ok() || !cxx.ok()) {
		EXPECT(!"out of memory");
		return;
	}
	macro_values &a = **c;
	macro_values &b = **cxx;
	cxxrt_macro_values_c(&a);
	cxxrt_macro_values_cxx(&b);
	EXPECT(a.count == b.count);
	EXPECT(a.count > 100 && a.count <= MACRO_VALUES_MAX);
	for (unsigned int i = 0; i < min_of(a.count, b.count); i++) {
		if (a.value[i] != b.value[i])
			pr_info("# %s: %llx in C, %llx in C++\n", a.name[i], a.value[i],
				b.value[i]);
		EXPECT(a.value[i] == b.value[i]);
	}
}

// Designated initializers inside: they must stay in the order of the members.
void dynamic_debug(Case &)
{
	pr_debug("a line that is off by default\n");
	pr_debug_ratelimited("and one with a limit\n");
}

void printf_extensions(Case &t)
{
	char text[64];
	u8 bytes[3] = {1, 0xab, 3};
	in6_addr address = {};
	snprintf(text, sizeof(text), "%*ph %pI6c", 3, bytes, &address);
	EXPECT(!strcmp(text, "01 ab 03 ::"));
}

constexpr Test kMacroTests[] = {
    {"macros have the values they have in C", same_values},
    {"dynamic debug compiles and stays silent", dynamic_debug},
    {"printf extensions", printf_extensions},
};

} // namespace

namespace selftest {
constinit const Suite macro_suite("headers", kMacroTests);
}
