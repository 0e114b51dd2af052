// SPDX-License-Identifier: GPL-2.0
/* Metadata and exports of rtrs-client; the code is C++. */
#include <linux/module.h>
#include <rtrs/rtrs.h>

int rtrs_client_start(void);
void rtrs_client_stop(void);

static int __init rtrs_client_init(void)
{
	return rtrs_client_start();
}

static void __exit rtrs_client_exit(void)
{
	rtrs_client_stop();
}

module_init(rtrs_client_init);
module_exit(rtrs_client_exit);

EXPORT_SYMBOL_GPL(rtrs_clt_open);
EXPORT_SYMBOL_GPL(rtrs_clt_abandon_all);
EXPORT_SYMBOL_GPL(rtrs_clt_close);
EXPORT_SYMBOL_GPL(rtrs_clt_query);
EXPORT_SYMBOL_GPL(rtrs_clt_get_permit);
EXPORT_SYMBOL_GPL(rtrs_clt_put_permit);
EXPORT_SYMBOL_GPL(rtrs_clt_submit);
EXPORT_SYMBOL_GPL(rtrs_clt_commit);
EXPORT_SYMBOL_GPL(rtrs_clt_poll);

MODULE_DESCRIPTION("RTRS: client side of the RDMA transport");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_VERSION);
