// SPDX-License-Identifier: GPL-2.0
/* Metadata and exports of rtrs-client; the code is C++. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <rtrs/rtrs.h>

#include <cxxrt/kernel_series.h>

int rtrs_client_start(void);
void rtrs_client_stop(void);
/* As rtrs_server_set_auth(), for sessions whose map says nothing else. */
int rtrs_client_set_auth(const char *text);
const char *rtrs_client_get_auth(void);

static int set_auth(const char *text, const struct kernel_param *kp)
{
	return rtrs_client_set_auth(text);
}

static int get_auth(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%s\n", rtrs_client_get_auth());
}

static const struct kernel_param_ops auth_ops = {
    .set = set_auth,
    .get = get_auth,
};
module_param_cb(auth, &auth_ops, NULL, 0644);
MODULE_PARM_DESC(auth,
		 "Whether servers have to prove who they are, for sessions that name neither a "
		 "policy nor a key: off, optional or required, which refuses them; who names "
		 "a key wants a proof (default: optional)");

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
EXPORT_SYMBOL_GPL(rtrs_clt_check_settings);
EXPORT_SYMBOL_GPL(rtrs_clt_abandon_all);
EXPORT_SYMBOL_GPL(rtrs_clt_close);
EXPORT_SYMBOL_GPL(rtrs_clt_query);
EXPORT_SYMBOL_GPL(rtrs_clt_get_permit);
EXPORT_SYMBOL_GPL(rtrs_clt_put_permit);
EXPORT_SYMBOL_GPL(rtrs_clt_submit);
EXPORT_SYMBOL_GPL(rtrs_clt_give_up);
EXPORT_SYMBOL_GPL(rtrs_clt_commit);
EXPORT_SYMBOL_GPL(rtrs_clt_poll);

MODULE_DESCRIPTION("RTRS: client side of the RDMA transport");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_VERSION);
MODULE_INFO(kernel, CXXRT_KERNEL);
