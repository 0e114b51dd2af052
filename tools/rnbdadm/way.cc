// SPDX-License-Identifier: GPL-2.0
#include "way.hh"
#include "text.hh"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

constexpr char kIp[] = "ip:";

// Bonds of VLANs are deep; a loop of links is the kernel's mistake, and not followed.
constexpr int kMaxLayers = 8;

std::string folder_of(const std::string &netdev)
{
	return "/sys/class/net/" + netdev;
}

// The port below an interface: its own, or that of what a VLAN or a bond is made of.
const HcaPort *port_below(const Host &host, const std::vector<HcaPort> &ports,
			  const std::string &netdev, int layers = 0)
{
	for (const HcaPort &port : ports)
		if (port.netdev == netdev)
			return &port;
	if (layers == kMaxLayers)
		return nullptr;
	for (const std::string &entry : host.list(folder_of(netdev)))
		if (entry.starts_with("lower_"))
			if (const HcaPort *port =
				port_below(host, ports, entry.substr(6), layers + 1))
				return port;
	return nullptr;
}

bool is_down(const Host &host, const std::string &netdev)
{
	const std::string state = trim(host.text(folder_of(netdev) + "/operstate"));
	return state == "down" || state == "lowerlayerdown" || state == "dormant" ||
	       trim(host.text(folder_of(netdev) + "/carrier")) == "0";
}

// "<before>3 times so far", or "".
std::string carrier_losses(const Host &host, const std::string &netdev, const char *before)
{
	const Number losses = host.number(folder_of(netdev) + "/carrier_down_count");
	return losses && *losses ? fmt::format("{}{} times so far", before, *losses) : "";
}

std::string mtu_text(const Host &host, const Route &route, const HcaPort &port)
{
	const Number own = host.number(folder_of(route.netdev) + "/mtu");
	const Number below = host.number(folder_of(port.netdev) + "/mtu");
	if (route.mtu && own && route.mtu < *own)
		return fmt::format(", MTU {} on the way, {} here", route.mtu, *own);
	if (!own)
		return "";
	if (below && *below != *own)
		return fmt::format(", MTU {} here, {} on the port {}:{}", *own, *below, port.hca,
				   port.port);
	return fmt::format(", MTU {}", *own);
}

Way judge(const Host &host, const std::vector<HcaPort> &ports, const std::string &source,
	  const std::string &destination)
{
	const Route route = host.route(destination, source);
	const std::string how = "ip route get " + destination;
	if (route.error)
		return {false,
			fmt::format("this machine has no way to {}{}{}: {}", destination,
				    source.empty() ? "" : " from ", source,
				    std::strerror(route.error)),
			how};
	if (route.netdev == "lo")
		return {true, destination + " is this machine's own", ""};
	const HcaPort *port = port_below(host, ports, route.netdev);
	if (!port)
		return {false,
			fmt::format("the way to {} goes over {}, which has no RDMA device",
				    destination, route.netdev),
			fmt::format("rnbdadm hca list; {}; soft-RoCE: rnbdadm hca add rxe0 {}", how,
				    route.netdev)};
	if (is_down(host, route.netdev))
		return {false,
			fmt::format("{}, over which the way to {} goes, has no carrier{}",
				    route.netdev, destination,
				    carrier_losses(host, route.netdev, ", and has lost it ")),
			"cable, switch, or an interface that is down: ip link show " +
			    route.netdev};
	const std::string next = route.gateway.empty() ? destination : route.gateway;
	const char *const what = route.gateway.empty() ? "neighbour" : "gateway";
	const std::string state = host.neighbour(route.netdev, next);
	if (state == "failed" || state == "incomplete")
		return {false,
			fmt::format("{} {} on {}: {}, nobody there answers to it", what, next,
				    route.netdev, state),
			fmt::format("is that machine up, and in the same network? ip neigh show {}",
				    next)};
	return {true,
		fmt::format("{} {} on {}: {}{}{}", what, next, route.netdev,
			    state.empty() ? "not asked for" : state, mtu_text(host, route, *port),
			    carrier_losses(host, route.netdev, ", carrier lost ")),
		""};
}

std::string bare(const std::string &address)
{
	return address.starts_with(kIp) ? address.substr(std::strlen(kIp)) : "";
}

} // namespace

std::optional<Way> look_at_way(const Host &host, const std::vector<HcaPort> &ports,
			       const std::string &source, const std::string &destination)
{
	const std::string to = bare(destination);
	if (to.empty())
		return std::nullopt;
	return judge(host, ports, bare(source), to);
}

std::string wrong_ways(const Host &host, const std::vector<std::string> &paths)
{
	const std::vector<HcaPort> ports = read_hcas(host);
	std::vector<std::string> lines;
	for (const std::string &path : paths) {
		const std::size_t at = path.find('@');
		const bool both = at != std::string::npos;
		const auto way = look_at_way(host, ports, both ? path.substr(0, at) : "",
					     both ? path.substr(at + 1) : path);
		if (way && !way->ok)
			lines.push_back(fmt::format("{}; {}", way->text, way->advice));
	}
	return join(lines, "\n");
}

std::string queue_pairs(const std::vector<RdmaConnection> &connections, const Path &path)
{
	std::map<std::string, int> states;
	int all = 0;
	for (const RdmaConnection &connection : connections)
		if (connection.hca == path.hca && connection.module.starts_with("rtrs") &&
		    connection.source == bare(path.source) &&
		    connection.destination == bare(path.destination)) {
			states[connection.state]++;
			all++;
		}
	if (!all)
		return "";
	std::vector<std::string> words;
	for (const auto &[state, count] : states)
		words.push_back(states.size() == 1 ? state : fmt::format("{} {}", count, state));
	return fmt::format("{} queue pairs: {}", all, join(words, ", "));
}

// Soft-RoCE of newer kernels gets there for good by what it could not send.
bool is_deaf(const std::vector<RdmaQueuePair> &pairs, const std::string &hca)
{
	return std::any_of(pairs.begin(), pairs.end(), [&](const RdmaQueuePair &pair) {
		return pair.hca == hca && pair.for_connects && pair.state == "err";
	});
}

std::string cure_of_deaf(const HcaPort &port)
{
	return fmt::format("a device of soft-RoCE is made anew, and its paths come back by "
			   "themselves: rnbdadm hca remove {} --force; rnbdadm hca add {} {}",
			   port.hca, port.hca, port.netdev);
}

std::string troubles_of(const Host &host, const Path &path)
{
	// Of the many names that drivers have, those that say what nobody wishes.
	static constexpr const char *kWords[] = {"err",	    "retry",	 "timeout",
						 "out_of_", "discard",	 "drop",
						 "nak",	    "duplicate", "link_down"};
	std::vector<std::string> counted;
	// The driver's own, and those that every adapter of InfiniBand has.
	for (const char *kind : {"hw_counters", "counters"}) {
		const std::string folder =
		    fmt::format("/sys/class/infiniband/{}/ports/{}/{}", path.hca, path.port, kind);
		for (const std::string &name : host.list(folder)) {
			const bool trouble = std::any_of(
			    std::begin(kWords), std::end(kWords),
			    [&](const char *word) { return name.find(word) != std::string::npos; });
			const Number count = trouble ? host.number(folder + "/" + name) : Number();
			if (count && *count)
				counted.push_back(fmt::format("{} {}", name, *count));
		}
	}
	return join(counted, ", ");
}

} // namespace rnbdadm
