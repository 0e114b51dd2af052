// SPDX-License-Identifier: GPL-2.0
// Mapping and unmapping one device.
#include "mapping.hh"

#include "names.hh"
#include "text.hh"

#include <fmt/format.h>
#include <rnbd/pure/map_options.hh>
#include <rtrs/pure/auth_policy.hh>
#include <rtrs/wire/key_name.hh>

namespace rnbdadm {

namespace {

bool takes_no_path_timeout(const Host &host)
{
	return host.text(kMapDevice).find("no_path_timeout=") != std::string::npos;
}

std::string proof_options(const Host &host, const MapRequest &request)
{
	if (host.exists(kMapDevice) && host.text(kMapDevice).find("key=") == std::string::npos) {
		if (request.key.empty() && request.auth != "required")
			return "";
		throw Failure(Exit::Missing, "the loaded module knows no auth and no key",
			      "modules of the kernel prove nothing; without both options they "
			      "connect as they are");
	}
	std::string options;
	if (!request.auth.empty())
		options += " auth=" + request.auth;
	if (!request.key.empty())
		options += " key=" + request.key;
	return options;
}

} // namespace

std::string map_line(const Host &host, const MapRequest &request)
{
	// In-tree resolves each path while it reads it: the port must stand before the paths.
	std::string line = "sessname=" + request.session;
	if (request.port != rnbd::kDefaultPort)
		line += fmt::format(" dest_port={}", request.port);
	for (const std::string &path : request.paths)
		line += " path=" + path;
	line += " device_path=" + request.device_path;
	if (request.access != "rw")
		line += " access_mode=" + request.access;
	if (request.poll_queues)
		line += fmt::format(" nr_poll_queues={}", request.poll_queues);
	if (request.no_path_timeout && takes_no_path_timeout(host))
		line += fmt::format(" no_path_timeout={}", *request.no_path_timeout);
	return line + proof_options(host, request);
}

void check_request(const Host &host, const MapRequest &request)
{
	check_session_name(request.session);
	const std::string &device = request.device_path;
	if (device.empty() || device.size() > rnbd::kMaxDevicePath ||
	    device.find_first_of(" \n") != std::string::npos)
		throw Failure(
		    Exit::Usage, fmt::format("'{}' cannot be the name of a device", device),
		    fmt::format("it has 1 to {} characters and no blank", rnbd::kMaxDevicePath));
	if (!rnbd::parse_access_mode(view(request.access)).ok())
		throw Failure(Exit::Usage,
			      fmt::format("access '{}' is not ro, rw or migration{}",
					  request.access,
					  did_you_mean(request.access, {"ro", "rw", "migration"})));
	if (!request.auth.empty() && !rtrs::parse_auth_policy(view(request.auth)).ok())
		throw Failure(
		    Exit::Usage,
		    fmt::format("auth '{}' is not off, optional or required{}", request.auth,
				did_you_mean(request.auth, {"off", "optional", "required"})));
	if (!request.key.empty() && !rtrs::check_key_name(view(request.key)).ok())
		throw Failure(Exit::Usage,
			      fmt::format("'{}' cannot be the name of a key", request.key),
			      "it has 1 to 63 letters, digits, '-', '_' and '.', and begins with a "
			      "letter or a digit");
	if (!request.key.empty() && request.auth == "off")
		throw Failure(Exit::Usage, "a key is of no use with auth off");
	if (request.paths.size() > rnbd::kMaxMapPaths)
		throw Failure(Exit::Usage,
			      fmt::format("a new session takes {} paths at most; add more with "
					  "rnbdadm path add",
					  rnbd::kMaxMapPaths));
	// What is left to refuse is what the kernel's own parser knows.
	rnbd::MapOptions parsed;
	std::string line = map_line(host, request);
	if (!rnbd::parse_map_options(view(line), 1 << 16, parsed).ok())
		throw Failure(Exit::Usage, fmt::format("the kernel would refuse '{}'", line));
}

std::optional<Device> mapped(const Host &host, const std::string &session,
			     const std::string &device_path)
{
	for (const Device &device : read_devices(host))
		if (device.session == session && device.device_path == device_path)
			return device;
	return std::nullopt;
}

std::optional<Device> map_device(Call &call, const MapRequest &request)
{
	check_request(call.host, request);
	need_client(call.host);
	if (auto there = mapped(call.host, request.session, request.device_path))
		throw Failure(Exit::Exists,
			      fmt::format("{} is mapped in session {} already, as {}",
					  request.device_path, request.session, there->node()));
	call.write(
	    kMapDevice, map_line(call.host, request), Action::Map,
	    fmt::format("cannot map {} in session {}", request.device_path, request.session));
	bool later = request.no_path_timeout && !takes_no_path_timeout(call.host);
	if (call.dry_run) {
		if (later)
			call.out << fmt::format(
			    "write '{}' to /sys/block/<the new disk>/rnbd/no_path_timeout\n",
			    *request.no_path_timeout);
		return std::nullopt;
	}
	std::optional<Device> device;
	if (!call.wait_for([&] {
		    return (device = mapped(call.host, request.session, request.device_path))
			.has_value();
	    }))
		throw Failure(
		    Exit::TimedOut,
		    fmt::format("{} is mapped, but its disk did not appear", request.device_path));
	// A mapping of others stays theirs when it is mapped again.
	if (!request.owner.empty())
		record_owner(call.host, *device, request.owner);
	if (later) {
		if (!device->no_path_timeout)
			throw Failure(
			    Exit::Missing,
			    fmt::format("{} is mapped; the module knows no "
					"no_path_timeout, I/O without a path fails at once",
					device->node()));
		call.write(device->folder + "/no_path_timeout",
			   std::to_string(*request.no_path_timeout), Action::Configure,
			   fmt::format("{} is mapped, but its no_path_timeout cannot be set",
				       device->node()));
	}
	return mapped(call.host, request.session, request.device_path);
}

namespace {

Session session_of(const Host &host, const Device &device)
{
	for (const Session &session : read_sessions(host, false))
		if (session.name == device.session)
			return session;
	throw Failure(Exit::Failed, fmt::format("{} cannot be mapped again: its session {} is gone",
						device.node(), device.session));
}

} // namespace

WayBack::WayBack(const Host &host, const Device &device, std::optional<std::int64_t> port)
    : session_(session_of(host, device))
{
	request_.session = device.session;
	request_.device_path = device.device_path;
	request_.access = device.access;
	request_.poll_queues = device.poll_queues.value_or(0);
	if (device.no_path_timeout && *device.no_path_timeout)
		request_.no_path_timeout = device.no_path_timeout;
	request_.owner = device.owner;
	request_.auth = session_.auth.value_or("");
	request_.key = session_.key.value_or("");
	for (const Path &path : session_.paths)
		if (request_.paths.size() < rnbd::kMaxMapPaths)
			request_.paths.push_back(path.source + "@" + path.destination);
	if (session_.paths.empty())
		throw Failure(Exit::Failed,
			      fmt::format("{} cannot be mapped again: session {} has no path",
					  device.node(), device.session));
	for (const Setting &setting : session_settings())
		if (auto value = running_value(host, device.session, setting))
			settings_.emplace_back(&setting, *value);
	if (session_.server_port)
		port = static_cast<std::int64_t>(*session_.server_port);
	// A session that others keep alive keeps its port as well.
	if (!port && session_.devices <= 1)
		throw Failure(
		    Exit::Missing,
		    fmt::format("the loaded module does not tell the server's port of session {}, "
				"which ends with {}",
				device.session, device.node()),
		    "say it with --port, 1234 if the server has the usual one");
	request_.port = port.value_or(request_.port);
	check_request(host, request_);
}

void WayBack::go(Call &call) const
{
	if (call.dry_run) {
		call.out << fmt::format("write '{}' to {}\n", map_line(call.host, request_),
					kMapDevice);
		return;
	}
	bool ended = !call.host.exists(session_.folder);
	map_device(call, request_);
	if (!ended)
		return;
	for (const auto &[setting, value] : settings_)
		if (running_value(call.host, session_.name, *setting) != value)
			apply_setting(call, session_.name, *setting, value);
	for (std::size_t i = request_.paths.size(); i < session_.paths.size(); i++) {
		const Path &path = session_.paths[i];
		call.write(session_.folder + "/add_path", path.source + "@" + path.destination,
			   Action::AddPath, fmt::format("cannot add path {} again", path.name));
	}
}

std::string users_of(const Device &device)
{
	std::vector<std::string> users;
	for (const std::string &mount : device.mounts)
		users.push_back(mount == "swap" ? "used as swap" : "mounted on " + mount);
	for (const std::string &holder : device.holders)
		users.push_back("used by " + holder);
	return join(users, ", ");
}

void unmap_device(Call &call, const Device &device, bool force)
{
	int error = call.try_write(device.folder + "/unmap_device", force ? "force" : "normal");
	if (error == EBUSY) {
		std::string users = users_of(device);
		throw Failure(Exit::Busy,
			      fmt::format("cannot unmap {}: {}", device.node(),
					  users.empty() ? words_of(error, Action::Unmap) : users),
			      users.empty() ? "find out who with: fuser -v " + device.node()
					    : "end that first; --force fails its I/O instead");
	}
	if (error)
		throw call.failure_of(error, Action::Unmap, "cannot unmap " + device.node());
	if (call.dry_run)
		return;
	if (!call.wait_for([&] { return !call.host.exists(device.folder); }))
		throw Failure(Exit::TimedOut, fmt::format("{} is still there after {:.0f} s",
							  device.node(), call.timeout));
	forget_owner(call.host, device.name);
}

} // namespace rnbdadm
