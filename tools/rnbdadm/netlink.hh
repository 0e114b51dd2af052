// SPDX-License-Identifier: GPL-2.0
// One question to the kernel over netlink, by libnl-3: its answer, or its errno.
#pragma once

#include <functional>
#include <memory>

#include <netlink/msg.h>
#include <netlink/netlink.h>

namespace rnbdadm {

struct NlSocketFree {
	void operator()(struct nl_sock *sock) const { nl_socket_free(sock); }
};
struct NlMessageFree {
	void operator()(struct nl_msg *message) const { nlmsg_free(message); }
};
using NlMessage = std::unique_ptr<struct nl_msg, NlMessageFree>;

// Nothing if there is no memory.
NlMessage netlink_message(int type, int flags);

// Sends, and calls `take` for each message of the answer. 0 or a positive errno; ETIMEDOUT after
// some seconds without one. EPROTONOSUPPORT: the kernel does not know that family.
int ask_netlink(int family, struct nl_msg *message,
		const std::function<void(struct nlmsghdr *)> &take);

} // namespace rnbdadm
