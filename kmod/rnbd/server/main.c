// SPDX-License-Identifier: GPL-2.0
/* Metadata and parameters of rnbd-server; the code is C++. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/dmi.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include <rnbd/server/server.h>

#include <cxxrt/kernel_series.h>

static unsigned short port_nr = 1234;
module_param(port_nr, ushort, 0444);
MODULE_PARM_DESC(port_nr, "Port that the server listens on (default: 1234)");

/* Written while the module is loaded, before anything reads it; afterwards it is constant. */
static char dev_search_path[RNBD_SERVER_PATH_SIZE] = "/";

static int set_dev_search_path(const char *text, const struct kernel_param *param)
{
	int length = rnbd_server_check_search_path(text);

	if (length < 0) {
		pr_err("dev_search_path must have 1 to %d characters\n", RNBD_SERVER_PATH_SIZE - 1);
		return length;
	}
	memcpy(dev_search_path, text, length);
	dev_search_path[length] = '\0';
	pr_info("dev_search_path changed to '%s'\n", dev_search_path);
	return 0;
}

static int get_dev_search_path(char *page, const struct kernel_param *param)
{
	return scnprintf(page, PAGE_SIZE, "%s\n", dev_search_path);
}

static const struct kernel_param_ops dev_search_path_ops = {
    .set = set_dev_search_path,
    .get = get_dev_search_path,
};
module_param_cb(dev_search_path, &dev_search_path_ops, NULL, 0444);
MODULE_PARM_DESC(dev_search_path,
		 "Folder beneath which clients name devices; %SESSNAME% stands for the name of the "
		 "client's session (default: /)");

/*
 * Goes into the identity of disks that have a serial number only, so it must stay the same when the
 * machine starts again, and differ between machines.
 */
static char *server_id;
module_param(server_id, charp, 0444);
MODULE_PARM_DESC(server_id,
		 "Identity of this machine in wwids (default: of its UUID and machine-id)");

static bool exports_only;
module_param(exports_only, bool, 0444);
MODULE_PARM_DESC(exports_only,
		 "Only what /sys/kernel/config/rnbd/exports lists can be opened (default: N)");

/* Exports can be made meanwhile, so that no client is refused one that is not there yet. */
static bool serving = true;
module_param(serving, bool, 0444);
MODULE_PARM_DESC(serving, "N: serve nobody until 1 is written to ctl/serving (default: Y)");

/* What clients know an orderly restart of the machine by: nothing that they wrote was lost by it.
 */
static unsigned long long instance;
module_param(instance, ullong, 0444);
MODULE_PARM_DESC(
    instance, "What ctl/instance said when the server had stopped in order, so that clients know "
	      "that none of their writes was lost; 0 if it may have crashed (default: 0)");

static int __init rnbd_server_init(void)
{
	struct rnbd_server_settings settings = {
	    .search_path = dev_search_path,
	    .exports_only = exports_only,
	    .serving = serving,
	    .instance = instance,
	    .server_id = server_id,
	    .board_uuid = dmi_get_system_info(DMI_PRODUCT_UUID),
	};

	return rnbd_server_start(port_nr, &settings);
}

static void __exit rnbd_server_exit(void)
{
	rnbd_server_stop();
}

module_init(rnbd_server_init);
module_exit(rnbd_server_exit);

MODULE_DESCRIPTION("RNBD server: block devices for clients over RTRS");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_VERSION);
MODULE_INFO(kernel, CXXRT_KERNEL);
