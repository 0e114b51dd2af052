// SPDX-License-Identifier: GPL-2.0
// Events of the kernel about what concerns RNBD. They are taken from the kernel itself and not from
// udevd, so that they are seen where no udevd runs.
#include "events.hh"

#include "failure.hh"
#include "text.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

#include <fmt/format.h>
#include <libudev.h>
#include <poll.h>

namespace rnbdadm {

namespace {

const char *const kSubsystems[] = {"block",	  "rnbd-client", "rnbd-server",
				   "rtrs-client", "rtrs-server", "infiniband"};

double seconds_now()
{
	struct timespec t = {};
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

} // namespace

std::optional<Json> event_row(const std::map<std::string, std::string> &properties)
{
	auto get = [&](const char *key) {
		auto found = properties.find(key);
		return found == properties.end() ? std::string() : found->second;
	};
	std::string subsystem = get("SUBSYSTEM"), path = get("DEVPATH");
	std::string object = path.substr(path.rfind('/') + 1);
	bool ours = std::any_of(std::begin(kSubsystems), std::end(kSubsystems),
				[&](const char *s) { return subsystem == s; });
	if (!ours || (subsystem == "block" && !object.starts_with("rnbd")))
		return std::nullopt;
	std::string rest;
	static const std::vector<std::string> kKnown = {"ACTION", "SUBSYSTEM", "DEVPATH", "SEQNUM"};
	for (const auto &[key, value] : properties)
		if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end())
			rest += fmt::format("{}{}={}", rest.empty() ? "" : " ", key, value);
	Json row;
	row["action"] = get("ACTION");
	row["subsystem"] = subsystem;
	row["object"] = object;
	row["properties"] = rest;
	return row;
}

void watch_events(double seconds, const std::function<bool(const Json &)> &take)
{
	std::unique_ptr<udev, decltype(&udev_unref)> context(udev_new(), udev_unref);
	if (!context)
		throw Failure(Exit::Failed, "cannot use libudev");
	std::unique_ptr<udev_monitor, decltype(&udev_monitor_unref)> monitor(
	    udev_monitor_new_from_netlink(context.get(), "kernel"), udev_monitor_unref);
	if (!monitor)
		throw Failure(Exit::Failed, "cannot listen to the events of the kernel");
	for (const char *subsystem : kSubsystems)
		udev_monitor_filter_add_match_subsystem_devtype(monitor.get(), subsystem, nullptr);
	if (int error = udev_monitor_enable_receiving(monitor.get()); error < 0)
		throw Failure(exit_of(-error),
			      fmt::format("cannot listen to the events of the kernel: {}",
					  std::strerror(-error)));
	double end = seconds_now() + seconds;
	struct pollfd wait = {udev_monitor_get_fd(monitor.get()), POLLIN, 0};
	for (;;) {
		double left = seconds > 0 ? end - seconds_now() : 3600;
		if (left <= 0)
			return;
		int ready = poll(&wait, 1, static_cast<int>(std::min(left, 3600.0) * 1000) + 1);
		if (ready < 0 && errno != EINTR)
			throw Failure(Exit::Failed, std::strerror(errno));
		if (ready <= 0)
			continue;
		std::unique_ptr<udev_device, decltype(&udev_device_unref)> device(
		    udev_monitor_receive_device(monitor.get()), udev_device_unref);
		if (!device)
			continue;
		std::map<std::string, std::string> properties;
		struct udev_list_entry *entry = nullptr;
		udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(device.get()))
		{
			const char *value = udev_list_entry_get_value(entry);
			properties[udev_list_entry_get_name(entry)] = value ? value : "";
		}
		std::optional<Json> row = event_row(properties);
		if (row && !take(*row))
			return;
	}
}

} // namespace rnbdadm
