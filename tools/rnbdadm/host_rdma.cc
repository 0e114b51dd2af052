// SPDX-License-Identifier: GPL-2.0
// Who holds what of the RDMA devices, and devices of software: RDMA netlink (libnl-3).
#include "host.hh"
#include "netlink.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <netdb.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

namespace rnbdadm {

namespace {

using Attributes = struct nlattr *[RDMA_NLDEV_ATTR_MAX];

int type_of(int command)
{
	return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

bool parse(struct nlmsghdr *header, Attributes &found)
{
	return !nlmsg_parse(header, 0, found, RDMA_NLDEV_ATTR_MAX - 1, nullptr);
}

bool parse(struct nlattr *nest, Attributes &found)
{
	return !nla_parse_nested(found, RDMA_NLDEV_ATTR_MAX - 1, nest, nullptr);
}

std::string text_of(const struct nlattr *attribute)
{
	return attribute ? nla_get_string(attribute) : "";
}

std::uint32_t number_of(const struct nlattr *attribute)
{
	return attribute ? nla_get_u32(attribute) : 0;
}

// The literal address in a sockaddr, "" for one without (a listener on InfiniBand).
std::string address_of(const struct nlattr *attribute)
{
	struct sockaddr_storage address = {};
	char text[NI_MAXHOST];
	if (!attribute)
		return "";
	std::memcpy(
	    &address, nla_data(attribute),
	    std::min<std::size_t>(sizeof(address), static_cast<std::size_t>(nla_len(attribute))));
	const socklen_t length = address.ss_family == AF_INET	 ? sizeof(struct sockaddr_in)
				 : address.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								 : 0;
	if (!length || getnameinfo(reinterpret_cast<struct sockaddr *>(&address), length, text,
				   sizeof(text), nullptr, 0, NI_NUMERICHOST))
		return "";
	return text;
}

// Of enum ib_qp_state, as the field calls them.
std::string queue_pair_state(const struct nlattr *attribute)
{
	static const char *const kStates[] = {"reset", "init", "rtr", "rts", "sqd", "sqe", "err"};
	const std::size_t state = attribute ? nla_get_u8(attribute) : std::size(kStates);
	return state < std::size(kStates) ? kStates[state] : "unknown";
}

struct Device {
	std::uint32_t index = 0;
	std::string name;
};

std::vector<Device> devices()
{
	std::vector<Device> found;
	NlMessage message = netlink_message(type_of(RDMA_NLDEV_CMD_GET), NLM_F_DUMP);
	ask_netlink(NETLINK_RDMA, message.get(), [&](struct nlmsghdr *header) {
		Attributes a;
		if (parse(header, a) && a[RDMA_NLDEV_ATTR_DEV_INDEX])
			found.push_back({number_of(a[RDMA_NLDEV_ATTR_DEV_INDEX]),
					 text_of(a[RDMA_NLDEV_ATTR_DEV_NAME])});
	});
	return found;
}

// Every entry of a table of one device.
void for_each_entry(int command, std::uint32_t device, int table,
		    const std::function<void(const Attributes &)> &take)
{
	NlMessage message = netlink_message(type_of(command), NLM_F_DUMP);
	if (!message || nla_put_u32(message.get(), RDMA_NLDEV_ATTR_DEV_INDEX, device))
		return;
	ask_netlink(NETLINK_RDMA, message.get(), [&](struct nlmsghdr *header) {
		Attributes a, e;
		if (!parse(header, a) || !a[table])
			return;
		int left = 0;
		struct nlattr *entry = nullptr;
		nla_for_each_nested(entry, a[table], left)
		{
			if (parse(entry, e))
				take(e);
		}
	});
}

} // namespace

std::vector<RdmaQueuePair> Host::rdma_queue_pairs() const
{
	constexpr std::uint8_t kGsi = 1; // of enum ib_qp_type
	std::vector<RdmaQueuePair> pairs;
	for (const Device &device : devices())
		for_each_entry(RDMA_NLDEV_CMD_RES_QP_GET, device.index, RDMA_NLDEV_ATTR_RES_QP,
			       [&](const Attributes &e) {
				       const struct nlattr *type = e[RDMA_NLDEV_ATTR_RES_TYPE];
				       pairs.push_back(
					   {device.name, number_of(e[RDMA_NLDEV_ATTR_RES_LQPN]),
					    type && nla_get_u8(type) == kGsi,
					    queue_pair_state(e[RDMA_NLDEV_ATTR_RES_STATE])});
			       });
	return pairs;
}

std::vector<RdmaConnection> Host::rdma_connections() const
{
	std::vector<RdmaConnection> connections;
	const std::vector<RdmaQueuePair> pairs = rdma_queue_pairs();
	for (const Device &device : devices()) {
		std::map<std::uint32_t, std::string> states;
		for (const RdmaQueuePair &pair : pairs)
			if (pair.hca == device.name)
				states[pair.number] = pair.state;
		for_each_entry(
		    RDMA_NLDEV_CMD_RES_CM_ID_GET, device.index, RDMA_NLDEV_ATTR_RES_CM_ID,
		    [&](const Attributes &e) {
			    const auto state = states.find(number_of(e[RDMA_NLDEV_ATTR_RES_LQPN]));
			    if (!e[RDMA_NLDEV_ATTR_RES_LQPN] || state == states.end())
				    return;
			    connections.push_back(
				{device.name, text_of(e[RDMA_NLDEV_ATTR_RES_KERN_NAME]),
				 address_of(e[RDMA_NLDEV_ATTR_RES_SRC_ADDR]),
				 address_of(e[RDMA_NLDEV_ATTR_RES_DST_ADDR]), state->second});
		    });
	}
	return connections;
}

std::map<std::string, RdmaCounts> Host::rdma_counts() const
{
	std::map<std::string, RdmaCounts> counts;
	NlMessage message = netlink_message(type_of(RDMA_NLDEV_CMD_RES_GET), NLM_F_DUMP);
	ask_netlink(NETLINK_RDMA, message.get(), [&](struct nlmsghdr *header) {
		Attributes a, e;
		if (!parse(header, a) || !a[RDMA_NLDEV_ATTR_RES_SUMMARY])
			return;
		RdmaCounts &of = counts[text_of(a[RDMA_NLDEV_ATTR_DEV_NAME])];
		int left = 0;
		struct nlattr *entry = nullptr;
		nla_for_each_nested(entry, a[RDMA_NLDEV_ATTR_RES_SUMMARY], left)
		{
			if (parse(entry, e) && e[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR])
				of[text_of(e[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME])] =
				    nla_get_u64(e[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR]);
		}
	});
	return counts;
}

int Host::add_hca(const std::string &name, const std::string &netdev)
{
	NlMessage message = netlink_message(type_of(RDMA_NLDEV_CMD_NEWLINK), 0);
	if (!message || nla_put_string(message.get(), RDMA_NLDEV_ATTR_DEV_NAME, name.c_str()) ||
	    nla_put_string(message.get(), RDMA_NLDEV_ATTR_LINK_TYPE, "rxe") ||
	    nla_put_string(message.get(), RDMA_NLDEV_ATTR_NDEV_NAME, netdev.c_str()))
		return ENOMEM;
	return ask_netlink(NETLINK_RDMA, message.get(), [](struct nlmsghdr *) {});
}

int Host::remove_hca(const std::string &name)
{
	for (const Device &device : devices()) {
		if (device.name != name)
			continue;
		NlMessage message = netlink_message(type_of(RDMA_NLDEV_CMD_DELLINK), 0);
		if (!message || nla_put_u32(message.get(), RDMA_NLDEV_ATTR_DEV_INDEX, device.index))
			return ENOMEM;
		return ask_netlink(NETLINK_RDMA, message.get(), [](struct nlmsghdr *) {});
	}
	return ENODEV;
}

} // namespace rnbdadm
