// SPDX-License-Identifier: GPL-2.0
// The client's objects: sessions, paths, disks; what both sides share.
#include "model.hh"

#include "disk_users.hh"
#include "failure.hh"
#include "text.hh"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

namespace rnbdadm {

bool client_loaded(const Host &host)
{
	return host.exists(kMapDevice);
}

bool server_loaded(const Host &host)
{
	return host.exists(kRnbdServer + "/ctl");
}

namespace {

[[noreturn]] void missing(const Host &host, const std::string &what, const std::string &hint)
{
	if (!host.exists("/sys/class"))
		throw Failure(Exit::Missing,
			      "there is no sysfs in /sys: nothing is known of modules",
			      "mount it with: mount -t sysfs sysfs /sys");
	throw Failure(Exit::Missing, what, hint);
}

} // namespace

void need_client(const Host &host)
{
	if (!client_loaded(host))
		missing(host, "the module rnbd_client is not loaded",
			"load it with: modprobe rnbd_client");
}

void need_server(const Host &host)
{
	if (!server_loaded(host))
		missing(host, "the module rnbd_server is not loaded",
			"load it with: modprobe rnbd_server");
}

Failure too_old_server()
{
	return Failure(Exit::Missing,
		       "the module rnbd_server that is loaded is the kernel's own or too "
		       "old for this");
}

void need_modules(const Host &host)
{
	if (!client_loaded(host) && !server_loaded(host) && !host.exists(kRtrsClient) &&
	    !host.exists(kRtrsServer))
		missing(host, "neither rnbd_client nor rnbd_server is loaded",
			"modprobe rnbd_client, on a server: modprobe rnbd_server; rnbdadm doctor "
			"says whether they are installed");
}

std::size_t Session::connected() const
{
	return static_cast<std::size_t>(
	    std::count_if(paths.begin(), paths.end(), [](const Path &p) { return p.connected(); }));
}

std::string Session::state() const
{
	std::size_t n = connected();
	return n == 0 ? "disconnected" : n < paths.size() ? "degraded" : "connected";
}

std::vector<std::pair<std::string, std::uint64_t>> read_kinds(const Host &host,
							      const std::string &path)
{
	std::vector<std::pair<std::string, std::uint64_t>> kinds;
	for (const std::string &line : split(host.text(path), "\n")) {
		std::vector<std::string> words = split(line);
		if (words.size() == 2)
			kinds.emplace_back(words[0], parse_number(words[1]).value_or(0));
	}
	return kinds;
}

namespace {

// In-tree's counter of reconnects starts at -1, so these are signed.
void read_reconnects(const Host &host, Path &path)
{
	std::vector<std::string> words = split(host.text(path.folder + "/stats/reconnects"));
	if (words.size() < 2)
		return;
	path.reconnects = parse_signed(words[0]);
	path.reconnects_failed = parse_signed(words[1]);
}

// Client: six numbers; server: five, in-tree four.
void read_counts(const Host &host, Path &path)
{
	std::vector<Number> n;
	for (const std::string &word : split(host.text(path.folder + "/stats/rdma"))) {
		// The in-tree count of requests in flight can fall below zero after a reset.
		Integer value = parse_signed(word);
		n.push_back(value && *value >= 0 ? Number(static_cast<std::uint64_t>(*value))
						 : Number());
	}
	if (n.size() < 4)
		return;
	path.counts.reads = n[0].value_or(0);
	path.counts.read_bytes = n[1].value_or(0);
	path.counts.writes = n[2].value_or(0);
	path.counts.written_bytes = n[3].value_or(0);
	if (n.size() > 4)
		path.counts.in_flight = n[4];
	if (n.size() > 5)
		path.counts.failed_over = n[5];
}

Text optional_text(const Host &host, const std::string &path)
{
	std::optional<std::string> content = host.read(path);
	return content ? Text(trim(*content)) : Text();
}

Path read_path(const Host &host, const Session &session, const std::string &name)
{
	Path path;
	path.server = session.server;
	path.session = session.name;
	path.name = name;
	path.folder = session.folder + "/paths/" + name;
	path.source = trim(host.text(path.folder + "/src_addr"));
	path.destination = trim(host.text(path.folder + "/dst_addr"));
	path.hca = trim(host.text(path.folder + "/hca_name"));
	path.port = host.number(path.folder + "/hca_port").value_or(0);
	// A server has a folder for connected paths only, and no file that says so.
	path.state = session.server ? "connected" : trim(host.text(path.folder + "/state"));
	path.connections = host.number(path.folder + "/nr_connections");
	std::vector<std::string> latency = split(host.text(path.folder + "/cur_latency"));
	if (!latency.empty())
		path.latency = parse_number(latency[0]);
	read_counts(host, path);
	read_reconnects(host, path);
	path.heartbeats_missed = host.number(path.folder + "/heartbeats_missed");
	path.last_error = host.integer(path.folder + "/last_error");
	path.last_reason = optional_text(host, path.folder + "/last_reason");
	path.attempts = host.number(path.folder + "/attempts");
	path.next_attempt_ms = host.integer(path.folder + "/next_attempt_ms");
	path.proven = optional_text(host, path.folder + "/proven");
	path.errors = read_kinds(host, path.folder + "/stats/errors");
	return path;
}

} // namespace

Session read_session(const Host &host, bool server, const std::string &name)
{
	Session session;
	session.server = server;
	session.name = name;
	session.folder = std::string(server ? kRtrsServer : kRtrsClient) + "/" + name;
	for (const char *file : {"/mp_policy", "/mpath_policy"})
		if (Text policy = optional_text(host, session.folder + file); policy && !server) {
			// "min-inflight (MI: 1)"
			session.policy = policy->substr(0, policy->find(' '));
			break;
		}
	session.server_port = host.number(session.folder + "/dest_port");
	session.auth = optional_text(host, session.folder + "/auth");
	session.key = optional_text(host, session.folder + "/key");
	session.downgrades = host.number(session.folder + "/downgrades");
	session.reconnect_attempts = host.integer(session.folder + "/max_reconnect_attempts");
	session.request_timeout = host.number(session.folder + "/request_timeout");
	session.heartbeat_interval = host.number(session.folder + "/heartbeat_interval_ms");
	session.heartbeat_missed_max = host.number(session.folder + "/heartbeat_missed_max");
	session.reconnect_delay = host.number(session.folder + "/reconnect_delay");
	session.tos = host.integer(session.folder + "/tos");
	session.connections = host.number(session.folder + "/nr_connections");
	session.queue_depth = host.number(session.folder + "/queue_depth");
	for (const std::string &path : host.list(session.folder + "/paths"))
		if (host.exists(session.folder + "/paths/" + path + "/src_addr"))
			session.paths.push_back(read_path(host, session, path));
	return session;
}

namespace {

// Documentation/block/stat.rst: reads, merged, sectors, ms, writes, merged, sectors, ms, ...
void read_disk_counts(const Host &host, Device &device)
{
	std::vector<std::string> words = split(host.text("/sys/block/" + device.name + "/stat"));
	if (words.size() < 9)
		return;
	auto at = [&](std::size_t i) {
		return parse_number(words[i]).value_or(0);
	};
	device.reads = at(0);
	device.read_bytes = at(2) * 512;
	device.writes = at(4);
	device.written_bytes = at(6) * 512;
	device.in_flight = at(8);
}

} // namespace

Device read_device(const Host &host, const std::string &name)
{
	Device device;
	std::string disk = "/sys/block/" + name;
	device.name = name;
	device.folder = disk + "/rnbd";
	device.session = trim(host.text(device.folder + "/session"));
	device.device_path = trim(host.text(device.folder + "/mapping_path"));
	device.access = trim(host.text(device.folder + "/access_mode"));
	device.state = trim(host.text(device.folder + "/state"));
	device.size = host.number(disk + "/size").value_or(0) * 512;
	device.poll_queues = host.integer(device.folder + "/nr_poll_queues");
	device.no_path_timeout = host.integer(device.folder + "/no_path_timeout");
	device.wwid = optional_text(host, disk + "/wwid");
	// An empty line says that the server does not tell it.
	if (device.wwid && device.wwid->empty())
		device.wwid.reset();
	device.waiting = host.number(device.folder + "/waiting_requests");
	device.oldest_request_ms = host.number(device.folder + "/oldest_request_ms");
	for (const auto &[kind, count] : read_kinds(host, device.folder + "/stats/requests")) {
		if (kind == "errors")
			device.errors = count;
		if (kind == "retries")
			device.retries = count;
	}
	read_disk_counts(host, device);
	device.owner = owner_of(host, device);
	return device;
}

namespace {

std::vector<std::string> disk_names(const Host &host)
{
	std::vector<std::string> names;
	for (const std::string &name : host.list("/sys/block"))
		if (name.starts_with("rnbd") && host.exists("/sys/block/" + name + "/rnbd/session"))
			names.push_back(name);
	return names;
}

} // namespace

std::vector<Device> read_devices(const Host &host)
{
	const DiskUsers users(host);
	std::vector<Device> devices;
	for (const std::string &name : disk_names(host)) {
		devices.push_back(read_device(host, name));
		users.find(devices.back());
	}
	return devices;
}

std::optional<Device> find_device(const Host &host, const std::string &session,
				  const std::string &device_path)
{
	auto is = [&](const std::string &name) {
		const std::string folder = "/sys/block/" + name + "/rnbd";
		return trim(host.text(folder + "/session")) == session &&
		       trim(host.text(folder + "/mapping_path")) == device_path;
	};
	// The module has a link for each, but where its name would be too long.
	const std::string linked = host.link(
	    fmt::format("{}/{}@{}", kMappings, replace_all(device_path, "/", "!"), session));
	if (!linked.empty() && is(linked))
		return read_device(host, linked);
	for (const std::string &name : disk_names(host))
		if (is(name))
			return read_device(host, name);
	return std::nullopt;
}

std::vector<Session> read_sessions(const Host &host, bool server)
{
	std::unordered_map<std::string, std::size_t> devices; // by session
	if (server)
		for (const Opened &opened : read_opened(host))
			devices[opened.session]++;
	else
		for (const std::string &name : disk_names(host))
			devices[trim(host.text("/sys/block/" + name + "/rnbd/session"))]++;
	std::vector<Session> sessions;
	for (const std::string &name : host.list(server ? kRtrsServer : kRtrsClient))
		if (name != "ctl") {
			sessions.push_back(read_session(host, server, name));
			sessions.back().devices = devices[name];
		}
	return sessions;
}

std::vector<Session> all_sessions(const Host &host)
{
	std::vector<Session> sessions;
	for (bool server : {false, true})
		for (Session &session : read_sessions(host, server))
			sessions.push_back(std::move(session));
	return sessions;
}

std::vector<Path> all_paths(const Host &host)
{
	std::vector<Path> paths;
	for (const Session &session : all_sessions(host))
		paths.insert(paths.end(), session.paths.begin(), session.paths.end());
	return paths;
}

namespace {
std::string record_of(const std::string &device)
{
	return "/run/rnbd/devices/" + device;
}
} // namespace

std::string owner_of(const Host &host, const Device &device)
{
	// The kernel keeps what it was told with the mapping.
	const std::string told = trim(host.text(device.folder + "/owner"));
	if (!told.empty())
		return told;
	std::vector<std::string> lines = split(host.text(record_of(device.name)), "\n");
	if (lines.size() < 3 || lines[0] != device.session || lines[1] != device.device_path)
		return "";
	return lines[2];
}

void record_owner(Host &host, const Device &device, const std::string &name)
{
	int error =
	    host.replace_file(record_of(device.name),
			      fmt::format("{}\n{}\n{}\n", device.session, device.device_path, name),
			      Host::Folders::Make);
	if (error)
		throw Failure(exit_of(error),
			      fmt::format("cannot record in /run/rnbd that {} was mapped here: {}",
					  device.name, words_of(error, Action::Configure)));
}

void forget_owner(Host &host, const std::string &device)
{
	host.remove_file(record_of(device));
}

} // namespace rnbdadm
