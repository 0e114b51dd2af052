// SPDX-License-Identifier: GPL-2.0
// From what is configured to what runs.
#pragma once

#include "config.hh"

#include <functional>

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

// Of what runs, what is not configured.
std::vector<Device> extra_of(std::vector<Device> running, const Config &config);
std::vector<Export> extra_of(std::vector<Export> running, const Config &config);

// The session as it runs; nothing if it does not.
std::optional<Session> running_session(const Host &host, const std::string &name);

// Makes one device run as configured: its session with its paths and settings, and the disk. Says
// in a word what happened: "mapped", "changed" or "unchanged".
std::string apply_device(Call &call, const Config &config, const DeviceConfig &device);
std::string apply_export(Call &call, const ExportConfig &exported);

// What runs and is not configured: disks that this program has mapped (--others-too: all), and
// exports.
struct Extra {
	std::vector<Device> devices;
	std::vector<Export> exports;

	std::size_t size() const { return devices.size() + exports.size(); }
};
Extra find_extra(const Call &call, const Config &config, bool devices, bool exports);
// Failure (Config) if the configuration is not there, or has mistakes: before anything is done.
void check_for_prune(const Host &host, const Config &config);
// Ends them, with the exit code of Call::each(). `report` has the kind, the name and a word for
// each: "unmapped", "removed" or "failed".
using Reporter = std::function<void(const std::string &, const std::string &, const std::string &)>;
Exit prune(Call &call, const Extra &extra, const Reporter &report);

} // namespace rnbdadm
