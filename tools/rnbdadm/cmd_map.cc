// SPDX-License-Identifier: GPL-2.0
// map, unmap, remap, resize.
#include "config.hh"
#include "mapping.hh"
#include "names.hh"
#include "saving.hh"
#include "text.hh"

#include <ostream>

#include <fmt/format.h>
#include <rnbd/pure/map_options.hh>

namespace rnbdadm {

namespace {

// --session, or the only one that there is.
std::string session_for(const Call &call)
{
	if (call.has(opt::kSession))
		return call.value(opt::kSession);
	std::vector<Session> sessions = read_sessions(call.host, false);
	if (sessions.size() == 1 && !call.has(opt::kPath))
		return sessions[0].name;
	std::vector<std::string> names;
	for (const Session &session : sessions)
		names.push_back(session.name);
	throw Failure(Exit::Usage, "map: say which session with --session",
		      names.empty() ? "a new session needs a name of your choice, and --path"
				    : "sessions: " + join(names, " "));
}

// The values of --policy and its like.
std::map<std::string, std::string> settings_of(const Call &call)
{
	std::map<std::string, std::string> settings;
	for (const Setting &setting : session_settings()) {
		if (!call.has(option_of(setting)))
			continue;
		const std::string value = call.value(option_of(setting));
		check_setting(setting, value);
		settings[setting.name] = normal_value(setting, value);
	}
	return settings;
}

// The kernel would refuse, and not say which of them.
void compare_settings(const Host &host, const MapRequest &request)
{
	for (const auto &[name, value] : request.settings) {
		const Setting &setting = *find_setting(name);
		auto running = running_value(host, request.session, setting);
		if (running && *running != value && setting.fixed)
			refuse_fixed(request.session, setting);
		if (running && *running != value)
			throw Failure(
			    Exit::Failed,
			    fmt::format("session {} exists with {} {}, and {} is asked for",
					request.session, name, *running, value),
			    fmt::format("other disks may have that, too; to change it for all: "
					"rnbdadm session set {} {}={}",
					request.session, name, value));
	}
}

Exit map(Call &call)
{
	MapRequest request;
	const bool all = call.has(opt::kAll);
	if (all == !call.arguments.empty())
		throw Failure(
		    Exit::Usage,
		    all ? "map: name a device, or give --all" : "map: DEVICE_PATH is missing",
		    all ? "" : "rnbdadm discover says what a server exports; --all takes it");
	request.device_path = all ? "-" : call.arguments[0];
	for (const std::string &path : call.values(opt::kPath))
		request.paths.push_back(call.path_of(path));
	request.access = call.value(opt::kAccess, "rw");
	request.port = call.number(opt::kPort);
	request.poll_queues = call.number(opt::kPollQueues);
	if (call.has(opt::kNoPathTimeout))
		request.no_path_timeout = call.number(opt::kNoPathTimeout);
	request.auth = call.value(opt::kAuth);
	request.key = call.value(opt::kKey);
	request.session = session_for(call);
	request.settings = settings_of(call);
	check_request(call.host, request);
	need_client(call.host);
	bool known = call.host.exists(fmt::format("{}/{}", kRtrsClient, request.session));
	const bool save = call.has(opt::kSave);
	// The configuration may have them.
	if (!known && request.paths.empty() && (all || !save))
		throw needs_a_path(request.session);
	if (known && !request.paths.empty())
		call.say(fmt::format("session {} exists and keeps its paths", request.session));
	compare_settings(call.host, request);
	if (all)
		return map_all(call, request);
	const std::optional<Device> device =
	    save ? map_and_save(call, request) : map_device(call, request);
	if (!device)
		return Exit::Done;
	if (call.style.format == Format::Table)
		call.out << device->node() << '\n';
	else
		print_one(call.out, kDeviceKind, to_json(*device), call.style);
	return Exit::Done;
}

// The disk that a word means; also by the name of its section, where it was mapped without. Nothing
// if there is such a section, and its disk is not mapped.
std::optional<Device> disk_called(const Host &host, const std::vector<Device> &devices,
				  const std::string &word)
{
	try {
		return one_device(host, devices, word);
	} catch (const Failure &failure) {
		if (failure.code() != Exit::NotFound)
			throw;
		const Config config = read_config(host);
		const DeviceConfig *configured = config.device(word);
		if (!configured)
			throw;
		const MapRequest &request = configured->request;
		for (const Device &device : devices)
			if (device.session == request.session &&
			    device.device_path == request.device_path)
				return device;
		return std::nullopt;
	}
}

Exit unmap(Call &call)
{
	const bool save = call.has(opt::kSave);
	// Without the module nothing is mapped.
	if ((!call.has(opt::kIfMapped) && !save) || call.host.exists(kRnbdClient))
		need_client(call.host);
	const std::vector<Device> devices = read_devices(call.host);
	std::vector<Device> chosen;
	bool all = call.has(opt::kAll), others = call.has(opt::kOthersToo);
	const Config config = call.has(opt::kSpareInitramfs) ? read_config(call.host) : Config();
	if (all == !call.arguments.empty())
		throw Failure(Exit::Usage, "unmap: name devices, or give --all");
	if (others && !all)
		throw Failure(Exit::Usage, "unmap: --others-too goes with --all");
	std::size_t spared = 0;
	for (const Device &device : devices) {
		if (all && (others || !device.owner.empty()))
			chosen.push_back(device);
		else if (all)
			spared++;
	}
	if (spared)
		call.terminal.err << fmt::format(
		    "{} not mapped by this program and left alone; --others-too takes all\n",
		    spared);
	const std::vector<std::string> &words = call.arguments;
	auto disk_at = [&](std::size_t i) {
		return all ? chosen[i] : disk_called(call.host, devices, words[i]);
	};
	// True if it is not mapped any more.
	auto end = [&](std::size_t i) {
		if (!all && config.in_initramfs(words[i])) {
			call.say(words[i] + " is the initramfs's, and stays");
			return false;
		}
		try {
			if (const std::optional<Device> device = disk_at(i))
				unmap_device(call, *device, call.has(opt::kForce));
			else if (!save)
				throw Failure(Exit::NotFound,
					      words[i] + " is configured, and not mapped");
		} catch (const Failure &failure) {
			if (failure.code() != Exit::NotFound || !call.has(opt::kIfMapped))
				throw;
			return false;
		}
		return true;
	};
	const std::size_t count = all ? chosen.size() : words.size();
	if (!save)
		return call.each(count, end);
	return end_each(call, count, end, [&](ConfigEdit &edit, std::size_t i) {
		const std::optional<Device> device = disk_at(i);
		const DeviceConfig *configured =
		    device ? edit.config().mapping(device->session, device->device_path)
			   : edit.config().device(words[i]);
		if (configured)
			edit.remove_device(configured->name);
	});
}

void remap_one(Call &call, const Device &device)
{
	if (device.state == "open") {
		call.say(device.name + " is open");
		return;
	}
	call.write(device.folder + "/remap_device", "1", Action::Remap,
		   "cannot remap " + device.node());
}

// The port where the module does not tell it: of the command line, else of the configuration.
std::optional<std::int64_t> known_port(const Call &call, const Device &device)
{
	if (call.has(opt::kPort))
		return call.number(opt::kPort);
	const Config config = read_config(call.host);
	if (const SessionConfig *session = config.session(device.session))
		return session->port;
	return std::nullopt;
}

// Nothing is unmapped before its way back is known.
void map_anew(Call &call, const Device &device)
{
	const WayBack way_back(call.host, device, known_port(call, device));
	// It has --force already, which is not that of unmap.
	unmap_device(call, device, false,
		     "end that first: it cannot be mapped anew while it is in use");
	try {
		way_back.go(call);
	} catch (const Failure &failure) {
		throw Failure(failure.code(), failure.what(),
			      fmt::format("{}{}it is unmapped now; to map it: echo '{}' > {}",
					  failure.hint(), failure.hint().empty() ? "" : "\n",
					  map_line(call.host, way_back.request()), kMapDevice));
	}
}

// Of a session as a whole the paths come first: a device can be opened again only through one.
Exit remap(Call &call)
{
	need_client(call.host);
	const std::vector<Device> devices = read_devices(call.host);
	const std::vector<Session> sessions = read_sessions(call.host, false);
	std::vector<Recovery> whole;
	std::vector<Device> chosen;
	for (const std::string &word : call.arguments) {
		const auto object = session_or_device(call.host, sessions, devices, word);
		if (const Device *device = std::get_if<Device>(&object))
			chosen.push_back(*device);
		else
			whole.emplace_back(std::get<Session>(object));
	}
	connect_all(call, whole);
	for (const Recovery &recovery : whole)
		for (const Device &device : devices)
			if (recovery.connected && device.session == recovery.session.name)
				chosen.push_back(device);
	return call.each(whole.size() + chosen.size(), [&](std::size_t i) {
		if (i < whole.size())
			return whole[i].check();
		const Device &device = chosen[i - whole.size()];
		if (device.state != "open" || !call.has(opt::kForce))
			remap_one(call, device);
		else
			map_anew(call, device);
	});
}

Exit resize(Call &call)
{
	need_client(call.host);
	Device device = one_device(call.host, read_devices(call.host), call.arguments[0]);
	std::optional<std::uint64_t> size = parse_size(call.arguments[1]);
	if (!size || *size == 0 || *size % 512)
		throw Failure(
		    Exit::Usage, fmt::format("'{}' is no size of a disk", call.arguments[1]),
		    "bytes as 10G, 512M, 4096, or sectors as 2048s; a multiple of 512 bytes");
	if (*size < device.size && !call.has(opt::kShrink))
		throw Failure(
		    Exit::Usage,
		    fmt::format("{} has {} now: what lies beyond {} could not be reached any more",
				device.node(), human_bytes(static_cast<double>(device.size)),
				human_bytes(static_cast<double>(*size))),
		    "give --shrink if that is meant");
	if (const std::string users = users_of(device); *size < device.size && !users.empty())
		throw Failure(Exit::Busy, fmt::format("cannot shrink {}: {}", device.node(), users),
			      "end that first: what uses it would find its end missing");
	call.write(device.folder + "/resize", std::to_string(*size / 512), Action::Resize,
		   "cannot resize " + device.node());
	return Exit::Done;
}

} // namespace

std::vector<Option> map_options()
{
	std::vector<Option> options = {
	    {opt::kSession, "session to map it in; may be left out if there is only one"},
	    {opt::kPath,
	     "address or name of the server, after the address of this machine to come from, if "
	     "you "
	     "want to choose it"},
	    {opt::kAccess,
	     "ro, rw (one session at a time), migration (two, while a virtual machine moves) or "
	     "shared (any number, for cluster file systems, if the export allows it)"},
	    {opt::kPort, "port of the server, 1234 if not given"},
	    {opt::kPollQueues, "queues for polled I/O, -1 for one per CPU"},
	    {opt::kNoPathTimeout,
	     "how long I/O waits while no path is connected, instead of failing at once"},
	    {opt::kAuth,
	     "whether both sides of a new session prove who they are; if not given required with "
	     "a key, else as the parameter of rtrs_client has it"},
	    {opt::kKey, "name of the key by which they do, which is in the kernel's keyring"}};
	for (const Setting &setting : session_settings())
		options.push_back({option_of(setting), setting.help});
	return options;
}

std::vector<Command> map_commands()
{
	return {
	    {"map",
	     "map a block device of a server as a disk of this machine",
	     "Opens DEVICE_PATH on the server and prints the name of the disk that it becomes "
	     "here. "
	     "The session is the connection between the two machines; it has a name of your choice "
	     "that must differ for each client of a server. If it does not exist, --path says "
	     "where "
	     "the server is, several times for several paths.\n\n"
	     "All options come with the disk: there is never one without them, also if this "
	     "program "
	     "is interrupted, but with modules of the kernel, where what they do not take is set "
	     "afterwards. Settings of a session that exists already are those of its other disks, "
	     "too: the mapping is refused if another value is asked for. --dry-run prints what is "
	     "written, without writing it.\n\n"
	     "The device is mapped until it is unmapped or the machine goes down. --save also "
	     "writes it, and its session if that is new there, at the end of "
	     "/etc/rnbd/rnbd.conf, so that rnbd-client.target maps it at each start; "
	     "see rnbd.conf(5). What is not given is then as the configuration has it for that "
	     "session, or in [defaults]. A disk that is mapped already is saved as it is; one that "
	     "is saved already changes nothing. What is configured otherwise than asked for is "
	     "refused, and so is a configuration with mistakes, before anything is mapped.",
	     {{"DEVICE_PATH", "name of the block device on the server, or of its export", "",
	       false}},
	     [] {
		     std::vector<Option> options = map_options();
		     options.push_back({opt::kAll,
					"every export of the server that this session may open and "
					"that nobody writes to"});
		     options.push_back(
			 {opt::kSave, "write it to /etc/rnbd/rnbd.conf as well, for each start"});
		     return options;
	     }(),
	     {{"rnbdadm map /dev/nvme0n1 --session store --path 192.0.2.10",
	       "the first device of a server"},
	      {"rnbdadm map /dev/nvme1n1 -s store -a ro", "another one, through the same session"},
	      {"rnbdadm map vm1 -s store -p 10.0.0.2@10.0.0.1 -p 10.0.1.2@10.0.1.1",
	       "with two paths"},
	      {"rnbdadm map vm2 -s safe -p 10.0.0.1 --key client7",
	       "from a server that has to prove who it is, and wants to know who comes"},
	      {"rnbdadm map vm3 -s safe --save", "and at each start of this machine"}},
	     &kDeviceKind,
	     map},
	    {"unmap",
	     "remove disks that were mapped",
	     "Removes the disks, and a session with its last one. A disk that somebody has open "
	     "stays, "
	     "and the message says who it is; --force removes it all the same and fails its "
	     "I/O.\n\n"
	     "--all takes what this program has mapped, by hand or from the configuration, and "
	     "spares "
	     "what others have.\n\n"
	     "--save takes the section of each disk that it has unmapped out of the "
	     "configuration, and that of a session with its last device; comments and all else "
	     "stay. A device that is configured and not mapped is taken out by its name there.",
	     {{"DEVICE", "a mapped device, by any of its names", "device", false, true}},
	     {{opt::kForce, "remove it even if it is open"},
	      {opt::kIfMapped, "a device that is not mapped is no failure"},
	      {opt::kSpareInitramfs,
	       "leave alone what the configuration has in an initramfs, by its name there"},
	      {opt::kAll, "every device that this program has mapped"},
	      {opt::kOthersToo, "with --all: those that others have mapped as well"},
	      {opt::kSave, "take it out of the configuration as well"}},
	     {{"rnbdadm unmap rnbd0", "by the name of the disk"},
	      {"rnbdadm unmap data --save", "for good"},
	      {"rnbdadm unmap store:/dev/nvme0n1", "by session and device"}},
	     nullptr,
	     unmap},
	    {"remap",
	     "open a device on the server again",
	     "A device that is closed, such as after 'rnbdadm server close' on the server, is "
	     "opened "
	     "again. Nothing happens to one that is open, unless --force is given: then it is "
	     "unmapped and mapped again, as it was. That helps where the client does not learn "
	     "that the server has closed it, since one of the two has the kernel's own modules: "
	     "the disk stays 'open', and its I/O fails. A "
	     "session that ends with its only device gets its port, its paths and its settings "
	     "again.\n\n"
	     "Of a session its lost paths are connected first, and those of rnbd.conf(5) that it "
	     "lacks are added, as by 'rnbdadm recover'.",
	     {{"OBJECT",
	       "a mapped device, by any of its names, or a session, by its name, an address or its "
	       "server's name: all of its devices",
	       "device|session", true, true}},
	     {{opt::kForce, "unmap it and map it again if it is open; it must not be in use"},
	      {opt::kPort, "port of the server, for modules of the kernel, which do not tell it"}},
	     {{"rnbdadm remap rnbd0", ""}, {"rnbdadm remap store", "all of a session"}},
	     nullptr,
	     remap},
	    {"resize",
	     "give a disk another size, after the device has grown on the server",
	     "A disk follows its device by itself, within seconds, unless client or server has the "
	     "kernel's own modules; then this is needed. The server is not asked: reads and writes "
	     "beyond the real end fail.",
	     {{"DEVICE", "a mapped device, by any of its names", "device"},
	      {"SIZE", "bytes as 10G, 512M or 4096, or sectors of 512 bytes as 2048s"}},
	     {{opt::kShrink,
	       "allow a size that is smaller than the present one, of a disk that is not in use"}},
	     {{"rnbdadm resize rnbd0 200G", ""}},
	     nullptr,
	     resize},
	};
}

} // namespace rnbdadm
