// SPDX-License-Identifier: GPL-2.0
// Mapping and unmapping one device.
#include "mapping.hh"

#include "names.hh"
#include "text.hh"

#include <fmt/format.h>
#include <rnbd/pure/map_options.hh>

namespace rnbdadm {

std::string map_line(const MapRequest &request)
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
	return line;
}

void check_request(const MapRequest &request)
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
	if (request.paths.size() > rnbd::kMaxMapPaths)
		throw Failure(Exit::Usage,
			      fmt::format("a new session takes {} paths at most; add more with "
					  "rnbdadm path add",
					  rnbd::kMaxMapPaths));
	// What is left to refuse is what the kernel's own parser knows.
	rnbd::MapOptions parsed;
	if (!rnbd::parse_map_options(view(map_line(request)), 1 << 16, parsed).ok())
		throw Failure(Exit::Usage,
			      fmt::format("the kernel would refuse '{}'", map_line(request)));
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
	check_request(request);
	need_client(call.host);
	if (auto there = mapped(call.host, request.session, request.device_path))
		throw Failure(Exit::Exists,
			      fmt::format("{} is mapped in session {} already, as {}",
					  request.device_path, request.session, there->node()));
	call.write(
	    kMapDevice, map_line(request), Action::Map,
	    fmt::format("cannot map {} in session {}", request.device_path, request.session));
	if (call.dry_run)
		return std::nullopt;
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
	if (request.no_path_timeout) {
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
		throw Failure(exit_of(error), fmt::format("cannot unmap {}: {}", device.node(),
							  words_of(error, Action::Unmap)));
	if (call.dry_run)
		return;
	if (!call.wait_for([&] { return !call.host.exists(device.folder); }))
		throw Failure(Exit::TimedOut, fmt::format("{} is still there after {:.0f} s",
							  device.node(), call.timeout));
	forget_owner(call.host, device.name);
}

} // namespace rnbdadm
