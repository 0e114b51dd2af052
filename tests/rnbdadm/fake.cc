// SPDX-License-Identifier: GPL-2.0
// A machine of plain files.
#include "fake.hh"

#include "model.hh"
#include "text.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <unistd.h>

using namespace rnbdadm;

namespace testing_support {

namespace {
// As the module of this project has it.
const char *const kUsage =
    "Usage: [no_path_timeout=<seconds|-1>] [auth=<policy>] [key=<name>] [mp_policy=<policy>] "
    "[max_reconnect_attempts=<number>] [request_timeout=<seconds>] [heartbeat_interval_ms=<ms>] "
    "[heartbeat_missed_max=<number>] [nr_connections=<number>] "
    "[reconnect_delay=<seconds>] [tos=<number>] [queue_depth=<number>] [owner=<word>]";
} // namespace

Folder::Folder()
{
	char name[] = "/tmp/rnbdadm-test-XXXXXX";
	if (!mkdtemp(name))
		throw std::runtime_error("mkdtemp");
	path_ = name;
}

Folder::~Folder()
{
	std::error_code error;
	fs::remove_all(path_, error);
}

FakeHost::FakeHost() : Folder(), Host(Folder::path()), owner(getuid())
{
	fs::create_directories(place("/sys/class"));
}

void FakeHost::put(const std::string &path, const std::string &text)
{
	fs::create_directories(fs::path(place(path)).parent_path());
	std::ofstream(place(path)) << text << '\n';
}

void FakeHost::drop(const std::string &path)
{
	fs::remove_all(place(path));
}

void FakeHost::device(int number, const std::string &session, const std::string &device_path,
		      const std::string &access, const std::string &state)
{
	std::string disk = "/sys/block/rnbd" + std::to_string(number);
	put(disk + "/size", "2097152");
	put(disk + "/wwid", "eui.000000000000000" + std::to_string(number));
	put(disk + "/dev", "252:" + std::to_string(number));
	put(disk + "/stat", "100 0 800 50 200 0 1600 60 3 100 110");
	put(disk + "/rnbd/session", session);
	put(disk + "/rnbd/mapping_path", device_path);
	put(disk + "/rnbd/access_mode", access);
	put(disk + "/rnbd/state", state);
	put(disk + "/rnbd/nr_poll_queues", "0");
	put(disk + "/rnbd/no_path_timeout", "0");
	put(disk + "/rnbd/stats/requests", "errors 0\nrequeues 4\nretries 3\nwaits 0");
	put(disk + "/rnbd/stats/reset_all", "Usage");
	for (const char *file : {"unmap_device", "resize", "remap_device"})
		put(disk + "/rnbd/" + file, "Usage");
	next_ = std::max(next_, number + 1);
}

void FakeHost::session(const std::string &name)
{
	std::string folder = "/sys/class/rtrs-client/" + name;
	put(folder + "/dest_port", "1234");
	put(folder + "/auth", "optional");
	put(folder + "/key", "");
	put(folder + "/mp_policy", "min-inflight (MI: 1)");
	put(folder + "/mpath_policy", "min-inflight (MI: 1)");
	put(folder + "/max_reconnect_attempts", "30");
	put(folder + "/request_timeout", "60");
	put(folder + "/heartbeat_interval_ms", "5000");
	put(folder + "/heartbeat_missed_max", "5");
	put(folder + "/reconnect_delay", "30");
	put(folder + "/tos", "-1");
	put(folder + "/nr_connections", "0");
	put(folder + "/queue_depth", "0");
	put(folder + "/add_path", "Usage");
	if (!lacks.empty())
		drop(folder + "/" + lacks);
	fs::create_directories(place(folder + "/paths"));
}

void FakeHost::path(const std::string &session, const std::string &source,
		    const std::string &destination, const std::string &hca,
		    const std::string &state)
{
	std::string folder =
	    "/sys/class/rtrs-client/" + session + "/paths/" + source + "@" + destination;
	put(folder + "/src_addr", source);
	put(folder + "/dst_addr", destination);
	put(folder + "/hca_name", hca);
	put(folder + "/hca_port", "1");
	put(folder + "/state", state);
	put(folder + "/cur_latency", "14500 ns");
	put(folder + "/stats/rdma", "100 409600 200 819200 3 7");
	put(folder + "/stats/reconnects", "2 5");
	put(folder + "/stats/errors", "connect 5\ndisconnected 1\nheartbeat 2\nlost 0");
	put(folder + "/stats/rdma_lat",
	    "1 ms: 90 180\n2 ms: 9 10\n4 ms: 1 10\n>= 65536 ms: 0 0\nmaximum ms: 3 4");
	for (const char *file : {"reconnect", "disconnect", "remove_path", "stats/reset_all"})
		put(folder + "/" + file, "Usage");
}

rnbdadm::Route FakeHost::route(const std::string &destination, const std::string &) const
{
	auto found = routes.find(destination);
	if (found != routes.end())
		return found->second;
	rnbdadm::Route route;
	for (const rnbdadm::NetAddress &net : nets)
		if (destination.starts_with(net.address.substr(0, net.address.rfind('.') + 1)))
			route.netdev = net.netdev;
	route.error = route.netdev.empty() ? ENETUNREACH : 0;
	return route;
}

std::string FakeHost::neighbour(const std::string &, const std::string &address) const
{
	auto found = neighbours.find(address);
	return found == neighbours.end() ? "reachable" : found->second;
}

int FakeHost::add_hca(const std::string &name, const std::string &netdev)
{
	writes.push_back(name + " on " + netdev);
	if (hca_error)
		return hca_error;
	hca(name, netdev, "active");
	return 0;
}

int FakeHost::remove_hca(const std::string &name)
{
	writes.push_back("no " + name);
	return hca_error;
}

void FakeHost::hca(const std::string &name, const std::string &netdev, const std::string &state)
{
	std::string folder = "/sys/class/infiniband/" + name;
	put(folder + "/fw_ver", "1.2.3");
	put(folder + "/ports/1/state", state == "active" ? "4: ACTIVE" : "1: DOWN");
	put(folder + "/ports/1/link_layer", "Ethernet");
	put(folder + "/ports/1/rate", "100 Gb/sec (4X EDR)");
	put(folder + "/ports/1/gids/0", "fe80:0000:0000:0000:5054:00ff:fe00:0002");
	put(folder + "/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0002");
	put(folder + "/ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000");
	put(folder + "/ports/1/gid_attrs/ndevs/0", netdev);
	put(folder + "/ports/1/gid_attrs/ndevs/1", netdev);
}

void FakeHost::client(bool degraded)
{
	put("/sys/class/rnbd-client/ctl/discover", "Usage");
	put(kMapDevice, kUsage);
	put("/sys/module/rnbd_client/parameters/trust_write_zeroes", "N");
	put("/proc/sys/kernel/osrelease", "6.1.0-56-amd64");
	modules("6.1.0-56-amd64", "updates/dkms", "DKMS module signing key");
	put("/proc/self/mountinfo", "30 1 252:0 / /srv/data rw - ext4 /dev/rnbd0 rw");
	put("/proc/swaps", "Filename Type Size Used Priority");
	session("store");
	path("store", "ip:10.0.0.2", "ip:10.0.0.1", "mlx5_0", "connected");
	path("store", "ip:10.0.1.2", "ip:10.0.1.1", "mlx5_1",
	     degraded ? "disconnected" : "connected");
	device(0, "store", "/dev/nvme0n1");
	device(1, "store", "/dev/nvme1n1", "ro");
	hca("mlx5_0", "eth0", "active");
	hca("mlx5_1", "eth1", degraded ? "down" : "active");
}

std::string requests_of_a_client(int reads, int writes, int errors)
{
	return fmt::format("reads {}\nread_bytes {}\nwrites {}\nwritten_bytes {}\nflushes 3\n"
			   "discards 1\nsecure_erases 0\nwrite_zeroes 0\nerrors {}",
			   reads, reads * 4096, writes, writes * 8192, errors);
}

void FakeHost::server()
{
	std::string devices = "/sys/class/rnbd-server/ctl/devices/";
	for (const char *session : {"alpha", "beta"}) {
		std::string folder = devices + "nvme0n1/sessions/" + session;
		put(folder + "/access_mode", "ro");
		put(folder + "/read_only", "1");
		put(folder + "/mapping_path", "/dev/nvme0n1");
		put(folder + "/force_close", "Usage");
		put(folder + "/requests", requests_of_a_client(300, 0, 2));
	}
	put(devices + "mapper!vm/sessions/alpha/requests", requests_of_a_client(10, 20, 0));
	put(devices + "mapper!vm/sessions/alpha/access_mode", "rw");
	put(devices + "mapper!vm/sessions/alpha/read_only", "0");
	put(devices + "mapper!vm/sessions/alpha/mapping_path", "mapper/vm");
	put(devices + "mapper!vm/sessions/alpha/force_close", "Usage");
	std::string path = "/sys/class/rtrs-server/alpha/paths/ip:10.0.0.2@ip:10.0.0.1";
	put(path + "/src_addr", "ip:10.0.0.2");
	put(path + "/dst_addr", "ip:10.0.0.1");
	put(path + "/hca_name", "mlx5_0");
	put(path + "/hca_port", "1");
	put(path + "/disconnect", "Usage");
	put(path + "/stats/rdma", "10 4096 20 8192 1");
	put(path + "/stats/reset_all", "Usage");
	put("/sys/module/rnbd_server/parameters/port_nr", "1234");
	put("/sys/module/rnbd_server/parameters/dev_search_path", "/");
	put("/sys/module/rtrs_server/parameters/max_chunk_size", "131072");
	put("/sys/module/rtrs_server/parameters/sess_queue_depth", "512");
	put("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB");
	put("/sys/kernel/config/rnbd/exports/vm1/device_path", "/dev/vg0/vm1");
	put("/sys/kernel/config/rnbd/exports/vm1/access", "rw");
	put("/sys/kernel/config/rnbd/exports/vm1/allowed_sessions", "alpha beta");
	put("/sys/kernel/config/rnbd/exports/vm1/allowed_keys", "");
	put("/sys/kernel/config/rnbd/exports/vm1/allowed_addresses", "10.0.0.0/30 fd00::2");
	put("/sys/kernel/config/rnbd/exports/vm1/local_use", "exclusive");
	put("/sys/kernel/config/rnbd/exports/vm1/enable", "1");
	put("/sys/kernel/config/rnbd/exports/vm1/users", "1");
	put("/sys/kernel/config/rnbd/exports/vm1/denied", "0");
}

std::optional<ModuleFile> FakeHost::module_file(const std::string &release,
						const std::string &name) const
{
	auto found = module_files.find(release + " " + name);
	return found == module_files.end() ? std::nullopt : std::optional(found->second);
}

void FakeHost::modules(const std::string &release, const std::string &folder,
		       const std::string &signer)
{
	fs::create_directories(place("/lib/modules/" + release + "/kernel"));
	for (const char *name :
	     {"rtrs_core", "rtrs_client", "rtrs_server", "rnbd_client", "rnbd_server"})
		module_files[release + " " + name] = {
		    folder + "/" + replace_all(name, "_", "-") + ".ko",
		    "1.0.0",
		    "ABC",
		    !signer.empty(),
		    signer,
		    ""};
}

int FakeHost::map(const std::string &line)
{
	std::string session_name, device_path, access = "rw", port = "1234", timeout = "0";
	std::string auth = "optional", key_name, owner;
	std::map<std::string, std::string> settings;
	std::vector<std::string> paths;
	for (const std::string &word : split(line)) {
		std::string key = word.substr(0, word.find('='));
		std::string value = word.substr(word.find('=') + 1);
		if (key == "sessname")
			session_name = value;
		else if (key == "device_path")
			device_path = value;
		else if (key == "access_mode")
			access = value;
		else if (key == "path")
			paths.push_back(value);
		else if (key == "dest_port")
			port = value;
		else if (key == "no_path_timeout")
			timeout = value;
		else if (key == "auth")
			auth = value;
		else if (key == "key")
			key_name = value;
		else if (key == "owner")
			owner = value;
		else if (text(kMapDevice).find(key + "=") != std::string::npos)
			settings[key] = value;
		else if (key != "nr_poll_queues")
			return EINVAL;
	}
	if (!exists("/sys/class/rtrs-client/" + session_name)) {
		session(session_name);
		put("/sys/class/rtrs-client/" + session_name + "/dest_port", port);
		put("/sys/class/rtrs-client/" + session_name + "/auth", auth);
		put("/sys/class/rtrs-client/" + session_name + "/key", key_name);
		for (const auto &[key, value] : settings)
			put("/sys/class/rtrs-client/" + session_name + "/" + key, value);
		for (const std::string &p : paths) {
			std::size_t at = p.find('@');
			path(session_name,
			     at == std::string::npos ? "ip:10.0.0.2" : p.substr(0, at),
			     p.substr(at == std::string::npos ? 0 : at + 1), "mlx5_0", "connected");
		}
	}
	device(next_, session_name, device_path, access);
	put(fmt::format("/sys/block/rnbd{}/rnbd/no_path_timeout", next_ - 1), timeout);
	if (text(kMapDevice).find("owner=") != std::string::npos)
		put(fmt::format("/sys/block/rnbd{}/rnbd/owner", next_ - 1), owner);
	return 0;
}

int FakeHost::write(const std::string &path, const std::string &text, double)
{
	writes.push_back(path + " <- " + text);
	for (const auto &[end, error] : errors)
		if (path.ends_with(end))
			return error;
	if (!exists(path))
		return ENOENT;
	if (!unknown_word.empty() && text == unknown_word)
		return EINVAL;
	std::string name = path.substr(path.rfind('/') + 1);
	std::string folder = path.substr(0, path.rfind('/'));
	if (name == "map_device")
		return map(text);
	if (name == "discover") {
		// Another one asks in between, as often as it is said.
		const bool mine = !others_ask || !others_ask--;
		const std::string number = std::to_string(++answers_);
		put(folder + "/discovered", number + " " + (mine ? text : "sessname=x") + "\n" +
						exported + "end " + number + " " +
						(paths_too ? "paths" : "exports"));
	}
	if (name == "unmap_device") {
		// A session ends with its last device.
		std::string session = this->text(folder + "/session");
		drop(folder.substr(0, folder.rfind('/')));
		std::vector<Device> left = read_devices(*this);
		if (std::none_of(left.begin(), left.end(),
				 [&](const Device &d) { return d.session == session; }))
			drop("/sys/class/rtrs-client/" + session);
	} else if (name == "remap_device")
		put(folder + "/state", "open");
	else if (name == "resize")
		put(folder.substr(0, folder.rfind('/')) + "/size", text);
	else if (name == "remove_path")
		drop(folder);
	else if (name == "reconnect")
		put(folder + "/state", "connected");
	else if (name == "disconnect" && exists(folder + "/state"))
		put(folder + "/state", "disconnected");
	else if (name == "add_path")
		this->path(folder.substr(folder.rfind('/') + 1), text.substr(0, text.find('@')),
			   text.substr(text.find('@') + 1), "mlx5_1", "connected");
	else
		put(path, text);
	return 0;
}

void FakeHost::watch_events(const std::vector<std::string> &subsystems, double,
			    const std::function<bool(const KernelEvent &)> &take) const
{
	for (const KernelEvent &event : happens)
		if (std::count(subsystems.begin(), subsystems.end(),
			       event.properties.at("SUBSYSTEM")) &&
		    !take(event))
			return;
}

std::vector<int> FakeHost::write_all(const std::vector<Order> &orders, double seconds)
{
	std::vector<int> answers;
	if (!orders.empty())
		rounds.push_back(orders.size());
	for (const Order &order : orders)
		answers.push_back(write(order.path, order.text, seconds));
	return answers;
}

FileKind FakeHost::kind_of(const std::string &path) const
{
	FileKind kind = Host::kind_of(path);
	if (!kind.error && std::count(disks.begin(), disks.end(), path)) {
		kind.block = true;
		kind.plain = false;
	}
	return kind;
}

int FakeHost::make_folder(const std::string &path)
{
	// As configfs does, a folder comes with its files.
	int error = Host::make_folder(path);
	if (!error)
		for (const char *file : {"device_path", "access", "allowed_sessions",
					 "allowed_keys", "allowed_addresses", "enable"})
			put(path + "/" + file, "");
	return error;
}

int FakeHost::remove_folder(const std::string &path)
{
	drop(path);
	return 0;
}

int FakeHost::add_kernel_key(const std::string &description, const unsigned char *secret,
			     std::size_t size)
{
	if (!ring)
		return ENOKEY;
	if (key_error)
		return key_error;
	for (const KernelKey &key : *ring)
		if (key.description == description)
			return EACCES;
	ring->push_back({static_cast<std::int32_t>(ring->size()) + 100, "logon", description, 0});
	secrets[description] = std::string(reinterpret_cast<const char *>(secret), size);
	return 0;
}

int FakeHost::remove_kernel_key(std::int32_t serial)
{
	if (key_error)
		return key_error;
	return ring && std::erase_if(*ring, [&](const KernelKey &k) { return k.serial == serial; })
		   ? 0
		   : ENOENT;
}

int FakeHost::load_module(const std::string &name)
{
	if (!module_error) {
		loaded.push_back(name);
		ring.emplace();
	}
	return module_error;
}

Outcome run_words(FakeHost &host, const std::vector<std::string> &words)
{
	std::ostringstream out, err;
	Terminal terminal{out, err};
	int code = run(words, host, terminal);
	return {code, out.str(), err.str()};
}

Outcome run_line(FakeHost &host, const std::string &line)
{
	return run_words(host, split(line));
}

void expect_golden(const std::string &name, const std::string &text)
{
	std::string path = std::string(GOLDEN) + "/" + name;
	const char *mode = std::getenv("RNBDADM_GOLDEN");
	if (mode && std::string(mode) == "write") {
		std::ofstream(path) << text;
		return;
	}
	std::ifstream stream(path);
	std::ostringstream wanted;
	wanted << stream.rdbuf();
	EXPECT_EQ(text, wanted.str()) << "differs from " << path;
}

} // namespace testing_support
