// SPDX-License-Identifier: GPL-2.0
/* What has to be C in a module: parameters and metadata, init and exit. */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "example.h"

static struct example_params params = {
    .interval_ms = 100,
    .keep = 16,
};

module_param_named(interval_ms, params.interval_ms, uint, 0444);
MODULE_PARM_DESC(interval_ms, "Time between two measurements, 1 to 60000 ms (default: 100)");
module_param_named(keep, params.keep, uint, 0444);
MODULE_PARM_DESC(keep, "How many of the last measurements are kept, 1 to 4096 (default: 16)");

static int __init example_init(void)
{
	return example_start(&params);
}

static void __exit example_exit(void)
{
	example_stop();
}

module_init(example_init);
module_exit(example_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Example of a module in C++: how late does work run?");
