// SPDX-License-Identifier: GPL-2.0
/* Parameters, metadata and exports of rtrs-server; the code is C++. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <rtrs/rtrs.h>
#include <rtrs/server/entry.h>

static struct rtrs_server_params params = {
    .always_invalidate = true,
    .max_chunk_size = 128 * 1024,
    .sess_queue_depth = 512,
};

module_param_named(always_invalidate, params.always_invalidate, bool, 0444);
MODULE_PARM_DESC(always_invalidate,
		 "Give each chunk a new key after every request, so that a client reaches it only "
		 "while it owns it (default: Y)");
module_param_named(max_chunk_size, params.max_chunk_size, int, 0444);
MODULE_PARM_DESC(max_chunk_size,
		 "Bytes of memory per request, a power of two from 8192 on; one page of it is for "
		 "headers, the rest for data (default: 131072)");
module_param_named(sess_queue_depth, params.sess_queue_depth, int, 0444);
MODULE_PARM_DESC(sess_queue_depth,
		 "Requests that a session can have at a time, each with a chunk of its own: 1 to "
		 "65535 (default: 512)");

static int __init rtrs_server_init(void)
{
	return rtrs_server_start(&params);
}

static void __exit rtrs_server_exit(void)
{
	rtrs_server_stop();
}

module_init(rtrs_server_init);
module_exit(rtrs_server_exit);

EXPORT_SYMBOL_GPL(rtrs_srv_open);
EXPORT_SYMBOL_GPL(rtrs_srv_close);
EXPORT_SYMBOL_GPL(rtrs_srv_respond);
EXPORT_SYMBOL_GPL(rtrs_srv_sess_name);
EXPORT_SYMBOL_GPL(rtrs_srv_sess_queue_depth);
EXPORT_SYMBOL_GPL(rtrs_srv_max_io_size);

MODULE_DESCRIPTION("RTRS server: RDMA transport that writes into memory reserved for each client");
MODULE_LICENSE("GPL");
