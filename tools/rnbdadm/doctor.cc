// SPDX-License-Identifier: GPL-2.0
// What this machine lacks to be a client or a server.
#include "bypass.hh"
#include "config.hh"
#include "diagnosis.hh"
#include "disk_users.hh"
#include "exports.hh"
#include "failure.hh"
#include "keys.hh"
#include "text.hh"
#include "way.hh"

#include <algorithm>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

bool module_loaded(const Host &host, const std::string &name)
{
	return host.exists("/sys/module/" + name);
}

void examine_modules(const Host &host, std::vector<Finding> &findings)
{
	bool client = client_loaded(host), server = server_loaded(host);
	if (!client && !server) {
		findings.push_back({"modules", "problem",
				    "neither rnbd_client nor rnbd_server is loaded",
				    "modprobe rnbd_client, on a server: modprobe rnbd_server"});
		return;
	}
	std::string text;
	for (const char *name :
	     {"rtrs_core", "rtrs_client", "rtrs_server", "rnbd_client", "rnbd_server"}) {
		if (!module_loaded(host, name))
			continue;
		std::string version = trim(host.text(fmt::format("/sys/module/{}/version", name)));
		text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name,
				    version.empty() ? "" : " " + version);
	}
	if (text.empty())
		text = client && server ? "client and server" : client ? "client" : "server";
	findings.push_back({"modules", "ok", text, ""});
	// A parameter that the in-tree module does not have.
	if (client && module_loaded(host, "rnbd_client") &&
	    !host.exists("/sys/module/rnbd_client/parameters/trust_write_zeroes"))
		findings.push_back(
		    {"modules", "note",
		     "rnbd_client is the kernel's own module: it does not notice a connection that "
		     "hangs by itself, and has fewer settings",
		     "modinfo -n rnbd_client"});
}

// Sessions of mapped disks that have a path from this port.
std::string disks_at(const std::vector<Session> &sessions, const HcaPort &port)
{
	std::vector<std::string> names;
	for (const Session &session : sessions)
		for (const Path &path : session.paths)
			if (session.devices && path.hca == port.hca && path.port == port.port &&
			    (names.empty() || names.back() != session.name))
				names.push_back(session.name);
	return join(names, " ");
}

void examine_hcas(const Host &host, std::vector<Finding> &findings)
{
	std::vector<HcaPort> ports = read_hcas(host);
	if (ports.empty()) {
		findings.push_back(
		    {"rdma", "problem", "there is no RDMA device",
		     "load its driver; for a trial on Ethernet: rnbdadm hca add rxe0 eth0"});
		return;
	}
	std::size_t active = 0;
	bool ethernet = false;
	const std::vector<Session> sessions = read_sessions(host, false);
	const std::vector<RdmaQueuePair> pairs = host.rdma_queue_pairs();
	for (const HcaPort &port : ports) {
		std::string name = fmt::format("rdma {}:{}", port.hca, port.port);
		if (is_deaf(pairs, port.hca))
			findings.push_back({name, "problem",
					    "its queue pair for connects is in state err: nobody "
					    "can connect through it any more",
					    cure_of_deaf(port)});
		if (port.state != "active") {
			std::string users = disks_at(sessions, port);
			findings.push_back({name, users.empty() ? "note" : "problem",
					    "the port is " + port.state +
						(users.empty() ? ""
							       : ", and disks of session " + users +
								     " have paths over it"),
					    port.netdev.empty() ? "look at cable and switch"
								: "ip link show " + port.netdev});
			continue;
		}
		active++;
		ethernet |= port.link_layer == "Ethernet";
		if (port.addresses.empty() && port.link_layer == "Ethernet")
			findings.push_back(
			    {name, "problem",
			     fmt::format("active, but its interface {} has no address",
					 port.netdev),
			     "ip addr add <address>/<length> dev " + port.netdev});
		else
			findings.push_back(
			    {name, "ok",
			     fmt::format("active, {}, {}", port.link_layer,
					 port.addresses.empty()
					     ? "paths by gid:" +
						   (port.gids.empty() ? "" : port.gids[0])
					     : join(port.addresses, " ")),
			     ""});
	}
	if (!active)
		findings.push_back(
		    {"rdma", "problem", "no port of an RDMA device is active", "rnbdadm hca list"});
	bool filter = module_loaded(host, "nf_tables") || module_loaded(host, "ip_tables");
	if (ethernet && filter)
		findings.push_back(
		    {"firewall", "note",
		     "this machine filters packets; RoCE is UDP to port 4791, both ways, "
		     "whatever port the server listens on",
		     "nft list ruleset | grep 4791"});
}

void examine_server(const Host &host, std::vector<Finding> &findings)
{
	if (!server_loaded(host))
		return;
	judge_serving(host, findings);
	bool exports = host.exists(kExports) && !host.list(kExports).empty();
	const bool proof = module_parameter(host, "rtrs_server", "auth") == "required";
	const char *whoever =
	    proof ? "every machine with a key" : "every machine that reaches this one";
	std::vector<std::string> passed;
	for (const Export &e : read_exports(host))
		if (opens_by_path(host, e.device_path))
			passed.push_back(e.name);
	const std::optional<std::string> open = open_folder(host);
	// What an export's rules keep out comes in by its path: worse than a server without
	// exports.
	if (open && (*open == "/" || !passed.empty())) {
		const std::string what = fmt::format("{} can use all {}{}{}", whoever,
						     *open == "/" ? "of its block devices"
								  : "block devices below " + *open,
						     exports ? ", not just the exports" : "",
						     proof ? "" : ", and need not prove who it is");
		if (passed.empty() || is_meant_open(host))
			findings.push_back(
			    {"exports", "note", what,
			     "narrow it: exports_only=Y for exports by name alone, as "
			     "rnbd-server.service "
			     "has it, or dev_search_path=..., as options of rnbd_server in "
			     "/etc/modprobe.d/rnbd.conf; auth=required for rtrs_server"});
		else
			findings.push_back(
			    {"exports", "problem",
			     fmt::format("{}: the rules of {} keep nobody out, as rnbd_server was "
					 "loaded with exports_only=N",
					 what, join(passed, ", ")),
			     kCloseBypass});
	}
	const DiskUsers disk_users(host);
	for (const Export &e : read_exports(host)) {
		const std::string users = join(disk_users.users_of(e.device_path), ", ");
		if (!users.empty() && e.local_use == "shared")
			findings.push_back(
			    {"export " + e.name, "note",
			     fmt::format("this machine uses {} as well: {}", e.device_path, users),
			     "two writers destroy what is not made for them"});
		else if (!users.empty())
			findings.push_back(
			    {"export " + e.name, "problem",
			     fmt::format("this machine uses {}: {}", e.device_path, users),
			     e.local_use ? "clients cannot open it before that ends (EBUSY)"
					 : "the loaded module does not keep both apart: end one of "
					   "them"});
	}
	for (const Export &e : read_exports(host))
		for (const auto &[what, advice] : missing_keys(host, split(e.keys.value_or(""))))
			findings.push_back({"export " + e.name, "problem", what, advice});
	// Names of sessions are the clients' own word.
	for (const Export &e : read_exports(host))
		if (!proof && e.keys.value_or("").empty() && e.addresses.value_or("").empty())
			findings.push_back(
			    {"export " + e.name, "note",
			     "every machine that reaches this one can use it, and need not prove "
			     "who "
			     "it is",
			     fmt::format(
				 "rnbdadm server export set {} --key NAME, or auth=required "
				 "for rtrs_server",
				 e.name)});
	if (exports)
		findings.push_back(
		    {"exports", "ok",
		     fmt::format("{} by name; while there is one, rnbd_server cannot be unloaded",
				 host.list(kExports).size()),
		     ""});
	Number chunk = parse_number(module_parameter(host, "rtrs_server", "max_chunk_size"));
	Number depth = parse_number(module_parameter(host, "rtrs_server", "sess_queue_depth"));
	if (!chunk || !depth)
		return;
	Number total;
	for (const std::string &line : split(host.text("/proc/meminfo"), "\n"))
		if (line.starts_with("MemTotal:"))
			total = parse_number(split(line)[1]);
	double each = static_cast<double>(*chunk) * static_cast<double>(*depth);
	std::size_t sessions = read_sessions(host, true).size();
	double used = each * static_cast<double>(sessions);
	std::string text = fmt::format("{} pinned for each session; sessions now: {}",
				       human_bytes(each), sessions);
	if (total && used + each > static_cast<double>(*total) * 1024 / 2)
		findings.push_back(
		    {"memory", "problem",
		     text + ": another one takes more than half of this machine's memory",
		     "lower max_chunk_size or sess_queue_depth of rtrs_server"});
	else
		findings.push_back({"memory", "ok", text, ""});
}

void examine_limits(const Host &host, std::vector<Finding> &findings)
{
	// The modules pin memory themselves, but RDMA drivers and tools beside them use the limit.
	for (const std::string &line : split(host.text("/proc/self/limits"), "\n")) {
		if (!line.starts_with("Max locked memory"))
			continue;
		std::vector<std::string> words = split(line.substr(17));
		Number soft = words.empty() ? Number() : parse_number(words[0]);
		if (soft && *soft < (64u << 10))
			findings.push_back(
			    {"memory lock", "note",
			     fmt::format("only {} of memory may be locked; RDMA programs "
					 "need more, the modules do not",
					 human_bytes(static_cast<double>(*soft))),
			     "LimitMEMLOCK= of the service, or ulimit -l"});
	}
}

void examine_objects(const Host &host, std::vector<Finding> &findings)
{
	const std::vector<HcaPort> ports = read_hcas(host);
	for (const Session &session : read_sessions(host, false)) {
		if (session.state() != "connected")
			findings.push_back({"session " + session.name,
					    session.connected() ? "note" : "problem",
					    fmt::format("{} of {} paths connected",
							session.connected(), session.paths.size()),
					    "rnbdadm recover " + session.name});
		for (const Path &path : session.paths)
			if (!path.connected())
				if (auto way =
					look_at_way(host, ports, path.source, path.destination);
				    way && !way->ok)
					findings.push_back({"path " + path.name, "problem",
							    way->text, way->advice});
	}
	for (const Device &device : read_devices(host))
		if (device.state != "open")
			findings.push_back({"device " + device.name, "problem", device.state,
					    "rnbdadm explain " + device.name});
}

void examine_config(const Host &host, std::vector<Finding> &findings)
{
	Config config = read_config(host);
	if (config.mistakes.empty()) {
		findings.push_back(
		    {"configuration", "ok",
		     fmt::format("{} devices, {} sessions, {} exports", config.devices.size(),
				 config.sessions.size(), config.exports.size()),
		     ""});
		return;
	}
	std::vector<std::string> lines;
	for (const Mistake &mistake : config.mistakes)
		lines.push_back(mistake.line());
	Failure failure = failure_of(lines, "the configuration");
	findings.push_back({"configuration", "problem", failure.what(), failure.hint()});
}

} // namespace

std::string module_parameter(const Host &host, const char *module, const char *name)
{
	return trim(host.text(fmt::format("/sys/module/{}/parameters/{}", module, name)));
}

void judge_serving(const Host &host, std::vector<Finding> &findings)
{
	const std::string port = module_parameter(host, "rnbd_server", "port_nr");
	const std::string places = module_parameter(host, "rtrs_server", "listen");
	if (trim(host.text(kRnbdServer + "/ctl/serving")) == "0")
		findings.push_back({"server", "problem", "the server is paused: nobody can connect",
				    "rnbdadm server resume"});
	else if (!port.empty())
		findings.push_back(
		    {"server", "ok",
		     fmt::format("listens on port {} of {}", port,
				 places.empty() ? "every RDMA device"
						: places + " alone (rtrs_server's listen)"),
		     ""});
}

std::vector<Finding> examine_host(const Host &host)
{
	std::vector<Finding> findings;
	for (auto examine : {examine_modules, examine_module_files, examine_hcas, examine_server,
			     examine_limits, examine_objects, examine_config, examine_keys}) {
		try {
			examine(host, findings);
		} catch (const Failure &failure) {
			findings.push_back({"access", "problem", failure.what(), failure.hint()});
		}
	}
	return findings;
}

} // namespace rnbdadm
