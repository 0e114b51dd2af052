// SPDX-License-Identifier: GPL-2.0
// A device that takes a second to be shut down. Those that were registered before it, as the
// network of a machine, live on meanwhile; those after it, as disks that were plugged in, are dead
// already.
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static void slow_shutdown(struct platform_device *device)
{
	msleep(1000);
}

static struct platform_driver driver = {
    .shutdown = slow_shutdown,
    .driver = {.name = "slow-shutdown"},
};

static struct platform_device *device;

static int __init slow_shutdown_init(void)
{
	int code = platform_driver_register(&driver);

	if (code)
		return code;
	device = platform_device_register_simple("slow-shutdown", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device)) {
		platform_driver_unregister(&driver);
		return PTR_ERR(device);
	}
	return 0;
}

static void __exit slow_shutdown_exit(void)
{
	platform_device_unregister(device);
	platform_driver_unregister(&driver);
}

module_init(slow_shutdown_init);
module_exit(slow_shutdown_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Takes its time in a shutdown, for tests");
