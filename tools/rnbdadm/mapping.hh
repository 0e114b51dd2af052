// SPDX-License-Identifier: GPL-2.0
// Mapping and unmapping one device: what the commands map and unmap, and apply, have in common.
#pragma once

#include "command.hh"

namespace rnbdadm {

struct MapRequest {
	std::string session;
	std::string device_path;
	std::vector<std::string> paths; // canonical
	std::int64_t port = 1234;
	std::string access = "rw";
	std::int64_t poll_queues = 0;
	std::optional<std::int64_t> no_path_timeout; // s
	std::string owner = "-";		     // name in the configuration
};

// Failure (Usage) for what the kernel would refuse, in words and before anything is written.
void check_request(const MapRequest &request);
// The line for map_device.
std::string map_line(const MapRequest &request);
// The disk of a mapping, if it exists.
std::optional<Device> mapped(const Host &host, const std::string &session,
			     const std::string &device_path);

// Nothing with --dry-run.
std::optional<Device> map_device(Call &call, const MapRequest &request);
void unmap_device(Call &call, const Device &device, bool force);
// "mounted on /srv, used by dm-0", or "".
std::string users_of(const Device &device);

std::vector<Command> map_commands();
std::vector<Command> list_commands();
std::vector<Command> session_commands();
std::vector<Command> server_commands();
std::vector<Command> stats_commands();
std::vector<Command> diagnosis_commands();
std::vector<Command> config_commands();
std::vector<Command> generate_commands();

} // namespace rnbdadm
