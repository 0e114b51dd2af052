// SPDX-License-Identifier: GPL-2.0
// A connection manager that lies: each request to connect says `address` where the address of this
// machine should be. Its GID, to which the answer goes, stays as it is.
#include <linux/inet.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/socket.h>
#include <rdma/ib_cm.h>

static char *address;
module_param(address, charp, 0444);

#ifdef CONFIG_KPROBES
// Of the header that rdma_cm puts before the private data of REQ (protocol A.2): the address of the
// client is behind two versions and its port, 16 bytes, of which an IPv4 address is the last four.
#define IP_VERSION 1
#define CLIENT 4
#define SIZE 16

static u8 forged[SIZE];
static u8 version;

static int forge(struct kprobe *probe, struct pt_regs *regs)
{
	struct ib_cm_req_param *request = (void *)regs_get_kernel_argument(regs, 1);
	u8 *header = (u8 *)request->private_data;

	if (header[IP_VERSION] >> 4 == version)
		memcpy(header + CLIENT, forged, SIZE);
	return 0;
}

static struct kprobe probe = {
    .symbol_name = "ib_send_cm_req",
    .pre_handler = forge,
};

static int __init forge_address_init(void)
{
	version = 4;
	if (!address)
		return -EINVAL;
	if (!in4_pton(address, -1, forged + SIZE - sizeof(__be32), -1, NULL)) {
		version = 6;
		if (!in6_pton(address, -1, forged, -1, NULL))
			return -EINVAL;
	}
	return register_kprobe(&probe);
}

static void __exit forge_address_exit(void)
{
	unregister_kprobe(&probe);
}
#else
static int __init forge_address_init(void)
{
	return -EOPNOTSUPP;
}

static void __exit forge_address_exit(void) {}
#endif

module_init(forge_address_init);
module_exit(forge_address_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Says another address than its own in each request to connect, for tests");
