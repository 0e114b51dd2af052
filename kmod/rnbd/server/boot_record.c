// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that outlives the module, until the machine starts again. The kernel keeps it with a
 * device that has no driver, and of which nothing is the module's.
 */
#include <linux/platform_device.h>
#include <linux/slab.h>

#include <rnbd/server/server.h>

struct record {
	u64 size; /* of what follows */
	u8 content[];
};

static const char device_name[] = "rnbd-server-losses";

static struct device *find(void)
{
	return bus_find_device_by_name(&platform_bus_type, NULL, device_name);
}

static void *make(size_t size)
{
	struct record *blank = kzalloc(sizeof(*blank) + size, GFP_KERNEL);
	struct platform_device *device;
	struct record *made;

	if (!blank)
		return NULL;
	blank->size = size;
	/* Takes a copy. */
	device = platform_device_register_data(NULL, device_name, PLATFORM_DEVID_NONE, blank,
					       sizeof(*blank) + size);
	kfree(blank);
	if (IS_ERR(device))
		return NULL;
	made = dev_get_platdata(&device->dev);
	return made->content;
}

void *rnbd_server_boot_record(size_t size, bool *of_others)
{
	struct device *device = find();
	struct record *kept;

	*of_others = false;
	if (!device)
		return make(size);
	kept = dev_get_platdata(device);
	/* Nobody else takes the device away. */
	put_device(device);
	if (kept->size == size)
		return kept->content;
	*of_others = true;
	rnbd_server_drop_boot_record();
	return make(size);
}

void rnbd_server_drop_boot_record(void)
{
	struct device *device = find();

	if (!device)
		return;
	platform_device_unregister(to_platform_device(device));
	put_device(device);
}
