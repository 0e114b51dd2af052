// SPDX-License-Identifier: GPL-2.0
// From what is configured to what runs.
#pragma once

#include "config.hh"

namespace rnbdadm {

struct Difference {
	std::string object;
	std::string key;
	std::string configured;
	std::string running;
};

Json to_json(const Difference &difference);

// What differs. Objects that run and are not configured count only with `extra`.
std::vector<Difference> find_differences(const Host &host, const Config &config, bool extra);

// The session as it runs; nothing if it does not.
std::optional<Session> running_session(const Host &host, const std::string &name);

// Makes one device run as configured: its session with its paths and settings, and the disk. Says
// in a word what happened: "mapped", "changed" or "unchanged".
std::string apply_device(Call &call, const Config &config, const DeviceConfig &device);
std::string apply_export(Call &call, const ExportConfig &exported);

} // namespace rnbdadm
