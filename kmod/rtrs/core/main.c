// SPDX-License-Identifier: GPL-2.0
/* Metadata and exports of rtrs-core; the code is C++. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <rtrs/core/core.h>

#include <cxxrt/kernel_series.h>

bool rtrs_guard_registrations = true;
module_param_named(guard_registrations, rtrs_guard_registrations, bool, 0444);
MODULE_PARM_DESC(
    guard_registrations,
    "Make registrations of memory on soft-RoCE survive its retransmissions; N treats it "
    "like hardware, for tests (default: Y)");

bool rtrs_wake_stalled = true;
module_param_named(wake_stalled, rtrs_wake_stalled, bool, 0644);
MODULE_PARM_DESC(wake_stalled,
		 "Wake send queues that stand still, once a second; N shows what that would "
		 "hide, for tests (default: Y)");

static int __init rtrs_core_init(void)
{
	return rtrs_core_start();
}

static void __exit rtrs_core_exit(void)
{
	rtrs_core_stop();
}

module_init(rtrs_core_init);
module_exit(rtrs_core_exit);

EXPORT_SYMBOL_GPL(rtrs_wake_stalled);
EXPORT_SYMBOL_GPL(rtrs_addr_parse_pair);
EXPORT_SYMBOL_GPL(rtrs_addr_parse_rule);
EXPORT_SYMBOL_GPL(rtrs_addr_print);
EXPORT_SYMBOL_GPL(rtrs_addr_print_pair);
EXPORT_SYMBOL_GPL(rtrs_keys_able);
EXPORT_SYMBOL_GPL(rtrs_key_read);
EXPORT_SYMBOL_GPL(rtrs_key_latest);
EXPORT_SYMBOL_GPL(rtrs_device_open);
EXPORT_SYMBOL_GPL(rtrs_device_close);
EXPORT_SYMBOL_GPL(rtrs_connection_create_queues);
EXPORT_SYMBOL_GPL(rtrs_connection_drain);
EXPORT_SYMBOL_GPL(rtrs_connection_arm_sends);
EXPORT_SYMBOL_GPL(rtrs_connection_destroy_queues);

MODULE_DESCRIPTION("RTRS: parts that client and server share");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_VERSION);
MODULE_INFO(kernel, CXXRT_KERNEL);
