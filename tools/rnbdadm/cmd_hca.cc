// SPDX-License-Identifier: GPL-2.0
// hca: RDMA devices of this machine.
#include "mapping.hh"
#include "text.hh"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

Exit hca_list(Call &call)
{
	if (!call.host.exists("/sys/class/infiniband"))
		throw Failure(Exit::Missing, "no driver of an RDMA device is loaded",
			      "for a trial on Ethernet: rnbdadm hca add rxe0 eth0");
	print_rows(call.out, kHcaKind, to_rows(read_hcas(call.host)), call.style);
	return Exit::Done;
}

void need_root(const Call &call)
{
	if (!call.dry_run && !call.host.is_privileged())
		throw Failure(Exit::Denied, "RDMA devices are root's to change", "run it as root");
}

Exit hca_add(Call &call)
{
	const std::string &name = call.arguments[0], &netdev = call.arguments[1];
	if (call.host.exists("/sys/class/infiniband/" + name))
		throw Failure(Exit::Exists, fmt::format("there is an RDMA device {} already", name),
			      "rnbdadm hca list");
	if (!call.host.exists("/sys/class/net/" + netdev))
		throw Failure(Exit::NotFound,
			      fmt::format("there is no network interface {}{}", netdev,
					  did_you_mean(netdev, call.host.list("/sys/class/net"))));
	need_root(call);
	if (call.dry_run) {
		call.out << printable(fmt::format("add RDMA device {} on {}\n", name, netdev));
		return Exit::Done;
	}
	if (int error = call.host.load_module("rdma_rxe"))
		throw Failure(
		    exit_of(error),
		    fmt::format("cannot load rdma_rxe: {}", words_of(error, Action::Configure)),
		    "it comes with the kernel's package; modprobe rdma_rxe");
	if (int error = call.host.add_hca(name, netdev)) {
		std::string text = words_of(error, Action::Configure), hint;
		if (error == EEXIST)
			text = fmt::format("{} has a soft-RoCE device, or another one is called "
					   "so (EEXIST)",
					   netdev);
		if (error == EPERM)
			hint = "of a VLAN the interface below it";
		throw Failure(exit_of(error),
			      fmt::format("cannot add {} on {}: {}", name, netdev, text), hint);
	}
	call.say(fmt::format("{} is there; it is gone after the next start: rnbd.conf(5) says how "
			     "sessions of an initramfs get theirs",
			     name));
	return Exit::Done;
}

// Paths of both sides that go over it.
std::vector<std::string> paths_over(const Host &host, const std::string &hca)
{
	std::vector<std::string> paths;
	for (const Path &path : all_paths(host))
		if (path.hca == hca && path.connected())
			paths.push_back(fmt::format("{} of session {}", path.name, path.session));
	return paths;
}

Exit hca_remove(Call &call)
{
	const std::string &name = call.arguments[0];
	const std::vector<std::string> names = call.host.list("/sys/class/infiniband");
	if (!std::count(names.begin(), names.end(), name))
		throw Failure(Exit::NotFound, fmt::format("there is no RDMA device {}{}", name,
							  did_you_mean(name, names)));
	const std::vector<std::string> paths = paths_over(call.host, name);
	if (!paths.empty() && !call.has(opt::kForce))
		throw Failure(Exit::Busy,
			      fmt::format("paths go over {}: {}", name, join(paths, ", ")),
			      "they would be lost; give --force if that is meant");
	need_root(call);
	if (call.dry_run) {
		call.out << printable(fmt::format("remove RDMA device {}\n", name));
		return Exit::Done;
	}
	if (int error = call.host.remove_hca(name))
		throw Failure(
		    exit_of(error),
		    fmt::format("cannot remove {}: {}", name,
				error == EINVAL
				    ? "it is hardware, and no device of soft-RoCE (EINVAL)"
				    : words_of(error, Action::Configure)));
	return Exit::Done;
}

} // namespace

std::vector<Command> hca_commands()
{
	return {
	    {"hca list",
	     "list RDMA devices, their ports, and the addresses that paths can use",
	     "An address of the network interface of an active port can be the source of a path on "
	     "a client, and the destination on a server. How many queue pairs, completion queues "
	     "and memory regions a device holds is what the kernel tells of all its ports "
	     "together.",
	     {},
	     {},
	     {{"rnbdadm hca list", ""}, {"rnbdadm hca list -c hca,state,queue_pairs", ""}},
	     &kHcaKind,
	     hca_list},
	    {"hca add",
	     "make an RDMA device of an Ethernet interface, by software",
	     "Loads rdma_rxe, soft-RoCE, and makes a device NAME on the interface. It is for "
	     "trials "
	     "and for machines without an adapter: each packet costs this machine's CPUs. The "
	     "device is gone after the next start.",
	     {{"NAME", "of the new device, rxe0 for instance", ""},
	      {"INTERFACE", "an Ethernet interface, eth0 for instance", "netdev"}},
	     {},
	     {{"rnbdadm hca add rxe0 eth0", ""}},
	     nullptr,
	     hca_add},
	    {"hca remove",
	     "remove an RDMA device that was made by software",
	     "Devices of adapters stay: the kernel refuses. Paths over the device are lost; they "
	     "come back by themselves with a device that has their address.",
	     {{"NAME", "of the device", "hca"}},
	     {{opt::kForce, "also if connected paths go over it"}},
	     {{"rnbdadm hca remove rxe0", ""}},
	     nullptr,
	     hca_remove},
	};
}

} // namespace rnbdadm
