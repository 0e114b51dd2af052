// SPDX-License-Identifier: GPL-2.0
// What has to be C in a module: its metadata, init and exit. Exports and tracepoint definitions
// would be here too.
#include <linux/module.h>

#include "selftest.h"

static int __init cxxrt_selftest_init(void)
{
	return cxxrt_selftest_run();
}

static void __exit cxxrt_selftest_exit(void) {}

module_init(cxxrt_selftest_init);
module_exit(cxxrt_selftest_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Self-test of cxxrt, C++ in the kernel");
