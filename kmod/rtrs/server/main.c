// SPDX-License-Identifier: GPL-2.0
/* Parameters, metadata and exports of rtrs-server; the code is C++. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <rtrs/rtrs.h>
#include <rtrs/server/entry.h>

#include <cxxrt/kernel_series.h>

static struct rtrs_server_params params = {
    .always_invalidate = true,
    .max_chunk_size = 128 * 1024,
    .sess_queue_depth = 512,
    .capsules = true,
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
module_param_named(capsules, params.capsules, bool, 0444);
MODULE_PARM_DESC(capsules, "Take requests and give answers in one message each, where a client can "
			   "do that, too (default: Y)");

static struct rtrs_server_limits limits = {
    .max_sessions = 1024,
    .max_sessions_per_host = 128,
    .max_paths = 4096,
    .max_paths_per_host = 1024,
    .max_connections = 131072,
    .max_connections_per_host = 65536,
};

module_param_named(max_sessions, limits.max_sessions, uint, 0644);
MODULE_PARM_DESC(max_sessions, "Sessions of all clients, 0 for any number (default: 1024)");
module_param_named(max_sessions_per_host, limits.max_sessions_per_host, uint, 0644);
MODULE_PARM_DESC(max_sessions_per_host,
		 "Sessions that one client address may begin, 0 for any number (default: 128)");
module_param_named(max_paths, limits.max_paths, uint, 0644);
MODULE_PARM_DESC(max_paths, "Paths of all sessions, 0 for any number (default: 4096)");
module_param_named(max_paths_per_host, limits.max_paths_per_host, uint, 0644);
MODULE_PARM_DESC(max_paths_per_host,
		 "Paths from one client address, 0 for any number (default: 1024)");
module_param_named(max_connections, limits.max_connections, uint, 0644);
MODULE_PARM_DESC(
    max_connections,
    "Connections, which are queue pairs, of all paths, 0 for any number (default: 131072)");
module_param_named(max_connections_per_host, limits.max_connections_per_host, uint, 0644);
MODULE_PARM_DESC(max_connections_per_host,
		 "Connections from one client address, 0 for any number (default: 65536)");
module_param_named(max_connections_per_path, limits.max_connections_per_path, uint, 0644);
MODULE_PARM_DESC(max_connections_per_path,
		 "Connections of one path, 2 at least, 0 for as many as the client asks for; "
		 "in-tree clients, which can't do with fewer, are refused (default: 0)");
module_param_named(max_pinned_mb, limits.max_pinned_mb, uint, 0644);
MODULE_PARM_DESC(
    max_pinned_mb,
    "Memory for the chunks of all sessions in MiB; a session has sess_queue_depth chunks of "
    "max_chunk_size bytes; 0 for three quarters of the machine's memory (default: 0)");
module_param_named(max_memory_mb, limits.max_memory_mb, uint, 0644);
MODULE_PARM_DESC(
    max_memory_mb,
    "Memory in MiB that all clients together may make the server take, for queues, regions "
    "and chunks, as estimated; 0 for three quarters of the machine's memory (default: 0)");
module_param_named(max_memory_per_host_mb, limits.max_memory_per_host_mb, uint, 0644);
MODULE_PARM_DESC(
    max_memory_per_host_mb,
    "The same for one client address; 0 for three quarters of what all may (default: 0)");

static int set_auth(const char *text, const struct kernel_param *kp)
{
	return rtrs_server_set_auth(text);
}

static int get_auth(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%s\n", rtrs_server_get_auth());
}

static const struct kernel_param_ops auth_ops = {
    .set = set_auth,
    .get = get_auth,
};
module_param_cb(auth, &auth_ops, NULL, 0644);
MODULE_PARM_DESC(auth,
		 "Whether clients have to prove who they are by a key: off, optional (where one "
		 "offers it, and there are keys) or required (default: optional)");

/* Both under the lock of the module's parameters. */
static char listen[RTRS_SERVER_LISTEN_SIZE];
static bool running;

static int set_listen(const char *text, const struct kernel_param *kp)
{
	size_t size = strlen(text);
	int err = running ? rtrs_server_set_listen(text) : rtrs_server_check_listen(text);

	if (err)
		return err;
	if (size && text[size - 1] == '\n')
		size--;
	strscpy(listen, text, size + 1);
	return 0;
}

static int get_listen(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%s\n", listen);
}

static const struct kernel_param_ops listen_ops = {
    .set = set_listen,
    .get = get_listen,
};
module_param_cb(listen, &listen_ops, NULL, 0644);
MODULE_PARM_DESC(listen,
		 "Where new connections are taken: addresses of this machine, parts of networks "
		 "(ADDRESS/BITS) and RDMA devices (hca:NAME), up to 16 between commas; empty for "
		 "everywhere (default: empty)");

/* The lock of the parameters is held for no more: the end of a server takes configfs's locks. */
static int set_running(bool now)
{
	int err;

	kernel_param_lock(THIS_MODULE);
	running = now;
	/* What was written before the start was only noted. */
	err = now ? rtrs_server_set_listen(listen) : 0;
	kernel_param_unlock(THIS_MODULE);
	return err;
}

static int __init rtrs_server_init(void)
{
	int err = rtrs_server_start(&params, &limits);

	if (err)
		return err;
	err = set_running(true);
	if (err) {
		set_running(false);
		rtrs_server_stop();
	}
	return err;
}

static void __exit rtrs_server_exit(void)
{
	set_running(false);
	rtrs_server_stop();
}

module_init(rtrs_server_init);
module_exit(rtrs_server_exit);

EXPORT_SYMBOL_GPL(rtrs_srv_open);
EXPORT_SYMBOL_GPL(rtrs_srv_close);
EXPORT_SYMBOL_GPL(rtrs_srv_respond);
EXPORT_SYMBOL_GPL(rtrs_srv_op_dead);
EXPORT_SYMBOL_GPL(rtrs_srv_sess_name);
EXPORT_SYMBOL_GPL(rtrs_srv_sess_key);
EXPORT_SYMBOL_GPL(rtrs_srv_sess_queue_depth);
EXPORT_SYMBOL_GPL(rtrs_srv_max_io_size);
EXPORT_SYMBOL_GPL(rtrs_srv_check_name);

MODULE_DESCRIPTION("RTRS server: RDMA transport that writes into memory reserved for each client");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_VERSION);
MODULE_INFO(kernel, CXXRT_KERNEL);
