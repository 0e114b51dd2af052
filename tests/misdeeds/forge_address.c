// SPDX-License-Identifier: GPL-2.0
// A connection manager that lies: each request to connect says `address` where the address of this
// machine should be, and `server` where that of the server should; of those that are not given each
// stays as it is. So do the GIDs, to which requests and answers go.
#include <linux/inet.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/socket.h>
#include <rdma/ib_cm.h>

static char *address;
module_param(address, charp, 0444);
static char *server;
module_param(server, charp, 0444);

#ifdef CONFIG_KPROBES
// Of the header that rdma_cm puts before the private data of REQ (protocol A.2): the address of the
// client is behind two versions and its port, and that of the server behind it, 16 bytes each, of
// which an IPv4 address is the last four.
#define IP_VERSION 1
#define CLIENT 4
#define SIZE 16

struct forgery {
	u8 version; // 0: none
	u8 bytes[SIZE];
};
static struct forgery forged[2]; // the client's, the server's

static int forge(struct kprobe *probe, struct pt_regs *regs)
{
	struct ib_cm_req_param *request = (void *)regs_get_kernel_argument(regs, 1);
	u8 *header = (u8 *)request->private_data;

	for (unsigned int i = 0; i < ARRAY_SIZE(forged); i++)
		if (forged[i].version && header[IP_VERSION] >> 4 == forged[i].version)
			memcpy(header + CLIENT + i * SIZE, forged[i].bytes, SIZE);
	return 0;
}

static struct kprobe probe = {
    .symbol_name = "ib_send_cm_req",
    .pre_handler = forge,
};

static int __init set_forgery(struct forgery *f, const char *text)
{
	if (!text)
		return 0;
	f->version = 4;
	if (in4_pton(text, -1, f->bytes + SIZE - sizeof(__be32), -1, NULL))
		return 0;
	f->version = 6;
	return in6_pton(text, -1, f->bytes, -1, NULL) ? 0 : -EINVAL;
}

static int __init forge_address_init(void)
{
	if (set_forgery(&forged[0], address) || set_forgery(&forged[1], server))
		return -EINVAL;
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
MODULE_DESCRIPTION("Says other addresses than the true ones in each request to connect, for tests");
