// SPDX-License-Identifier: GPL-2.0
// The server's objects, and RDMA devices.
#include "model.hh"

#include "text.hh"

#include <algorithm>

namespace rnbdadm {

namespace {

void read_requests(const Host &host, Opened &opened)
{
	for (const auto &[kind, count] : read_kinds(host, opened.folder + "/requests"))
		for (const auto &[name, number] : {std::pair{"reads", &opened.reads},
						   {"read_bytes", &opened.read_bytes},
						   {"writes", &opened.writes},
						   {"written_bytes", &opened.written_bytes},
						   {"flushes", &opened.flushes},
						   {"discards", &opened.discards},
						   {"secure_erases", &opened.secure_erases},
						   {"write_zeroes", &opened.write_zeroes},
						   {"errors", &opened.errors}})
			if (kind == name)
				*number = count;
}

} // namespace

std::vector<Opened> read_opened(const Host &host)
{
	std::vector<Opened> all;
	std::string devices = kRnbdServer + "/ctl/devices";
	for (const std::string &device : host.list(devices)) {
		std::string sessions = devices + "/" + device + "/sessions";
		for (const std::string &session : host.list(sessions)) {
			Opened opened;
			opened.device = replace_all(device, "!", "/");
			opened.session = session;
			opened.folder = sessions + "/" + session;
			opened.access = trim(host.text(opened.folder + "/access_mode"));
			if (auto only = host.read(opened.folder + "/read_only"))
				opened.read_only = trim(*only);
			opened.client_path = trim(host.text(opened.folder + "/mapping_path"));
			read_requests(host, opened);
			all.push_back(opened);
		}
	}
	return all;
}

Export read_export(const Host &host, const std::string &name)
{
	Export e;
	e.name = name;
	e.folder = kExports + "/" + name;
	e.device_path = trim(host.text(e.folder + "/device_path"));
	e.access = trim(host.text(e.folder + "/access"));
	auto list = [&](const char *file) -> Text {
		auto text = host.read(e.folder + file);
		return text ? Text(join(split(*text), " ")) : std::nullopt;
	};
	e.clients = list("/allowed_sessions");
	e.keys = list("/allowed_keys");
	e.addresses = list("/allowed_addresses");
	e.local_use = list("/local_use");
	e.enabled = list("/enable");
	e.users = host.number(e.folder + "/users");
	e.denied = host.number(e.folder + "/denied");
	return e;
}

std::vector<Export> read_exports(const Host &host)
{
	std::vector<Export> all;
	for (const std::string &name : host.list(kExports))
		all.push_back(read_export(host, name));
	return all;
}

namespace {

// "4: ACTIVE" -> "active"
std::string port_state(const std::string &text)
{
	std::vector<std::string> words = split(text, ": ");
	std::string state = words.empty() ? "" : words.back();
	std::transform(state.begin(), state.end(), state.begin(),
		       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
	return state;
}

bool empty_gid(const std::string &gid)
{
	return gid.find_first_not_of("0:") == std::string::npos;
}

// fe80:0000:... with nothing else: the subnet prefix alone, of an unused entry of InfiniBand.
bool unset_gid(const std::string &gid)
{
	return gid.size() >= 19 && empty_gid(gid.substr(20));
}

} // namespace

std::vector<HcaPort> read_hcas(const Host &host)
{
	std::vector<HcaPort> ports;
	std::vector<NetAddress> addresses = host.addresses();
	const std::map<std::string, RdmaCounts> counts = host.rdma_counts();
	for (const std::string &hca : host.list("/sys/class/infiniband")) {
		std::string folder = "/sys/class/infiniband/" + hca;
		for (const std::string &number : host.list(folder + "/ports")) {
			HcaPort port;
			std::string at = folder + "/ports/" + number;
			port.hca = hca;
			port.port = parse_number(number).value_or(0);
			port.state = port_state(host.text(at + "/state"));
			port.link_layer = trim(host.text(at + "/link_layer"));
			port.rate = trim(host.text(at + "/rate"));
			if (auto held = counts.find(hca); held != counts.end())
				port.held = held->second;
			port.firmware = trim(host.text(folder + "/fw_ver"));
			for (const std::string &index : host.list(at + "/gids")) {
				std::string gid = trim(host.text(at + "/gids/" + index));
				if (gid.empty() || empty_gid(gid) || unset_gid(gid))
					continue;
				// RoCE lists each address once for each of its versions.
				if (!std::count(port.gids.begin(), port.gids.end(), gid))
					port.gids.push_back(gid);
				std::string netdev =
				    trim(host.text(at + "/gid_attrs/ndevs/" + index));
				if (port.netdev.empty())
					port.netdev = netdev;
			}
			for (const NetAddress &address : addresses)
				if (!port.netdev.empty() && address.netdev == port.netdev &&
				    !address.link_local)
					port.addresses.push_back("ip:" + address.address);
			ports.push_back(port);
		}
	}
	return ports;
}

} // namespace rnbdadm
