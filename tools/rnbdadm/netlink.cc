// SPDX-License-Identifier: GPL-2.0
#include "netlink.hh"

#include <cerrno>

#include <sys/socket.h>
#include <sys/time.h>

namespace rnbdadm {

namespace {

constexpr time_t kLimitSeconds = 5;

// What one answer leaves behind.
struct Answer {
	const std::function<void(struct nlmsghdr *)> &take;
	int error = 0;
	bool over = false;
};

int on_message(struct nl_msg *message, void *data)
{
	static_cast<Answer *>(data)->take(nlmsg_hdr(message));
	return NL_OK;
}

int on_end(struct nl_msg *, void *data)
{
	static_cast<Answer *>(data)->over = true;
	return NL_STOP;
}

int on_error(struct sockaddr_nl *, struct nlmsgerr *error, void *data)
{
	auto *answer = static_cast<Answer *>(data);
	answer->error = -error->error;
	answer->over = true;
	return NL_STOP;
}

} // namespace

NlMessage netlink_message(int type, int flags)
{
	return NlMessage(nlmsg_alloc_simple(type, NLM_F_REQUEST | flags));
}

int ask_netlink(int family, struct nl_msg *message,
		const std::function<void(struct nlmsghdr *)> &take)
{
	const std::unique_ptr<struct nl_sock, NlSocketFree> sock(nl_socket_alloc());
	const std::unique_ptr<struct nl_cb, decltype(&nl_cb_put)> cb(nl_cb_alloc(NL_CB_DEFAULT),
								     nl_cb_put);
	if (!sock || !cb || !message)
		return ENOMEM;
	if (nl_connect(sock.get(), family))
		return EPROTONOSUPPORT;
	const struct timeval limit = {kLimitSeconds, 0};
	setsockopt(nl_socket_get_fd(sock.get()), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	Answer answer{take};
	nl_cb_set(cb.get(), NL_CB_VALID, NL_CB_CUSTOM, on_message, &answer);
	nl_cb_set(cb.get(), NL_CB_FINISH, NL_CB_CUSTOM, on_end, &answer);
	nl_cb_set(cb.get(), NL_CB_ACK, NL_CB_CUSTOM, on_end, &answer);
	nl_cb_err(cb.get(), NL_CB_CUSTOM, on_error, &answer);
	// A dump ends by itself; of all else the end is the acknowledgement that libnl asks for.
	if (nl_send_auto(sock.get(), message) < 0)
		return EIO;
	while (!answer.over)
		if (int error = nl_recvmsgs(sock.get(), cb.get()); error < 0 && !answer.over)
			return error == -NLE_AGAIN ? ETIMEDOUT : EIO;
	return answer.error;
}

} // namespace rnbdadm
