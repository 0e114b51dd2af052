// SPDX-License-Identifier: GPL-2.0
/* Metadata and parameters of rnbd-client; the code is C++. */
#include <linux/module.h>

#include <rnbd/client/client.h>

#include <cxxrt/kernel_series.h>

/*
 * One field of the answer to OPEN limits write-same in servers of Linux 5.8 to 5.17 and
 * write-zeroes in those since 6.8, and nothing on the wire tells them apart (protocol D.4). An old
 * server that gets a write-zeroes would submit a write-same without data. So the field is not
 * believed by default, and the block layer writes zeroes as plain data.
 */
bool rnbd_client_trust_write_zeroes;
module_param_named(trust_write_zeroes, rnbd_client_trust_write_zeroes, bool, 0444);
MODULE_PARM_DESC(trust_write_zeroes,
		 "Offload write-zeroes: Y only if no server is a Linux 5.8 to 5.17 (default: N)");

static int __init rnbd_client_init(void)
{
	return rnbd_client_start();
}

static void __exit rnbd_client_exit(void)
{
	rnbd_client_stop();
}

module_init(rnbd_client_init);
module_exit(rnbd_client_exit);

MODULE_DESCRIPTION("RNBD client: remote block devices over RTRS");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_VERSION);
MODULE_INFO(kernel, CXXRT_KERNEL);
