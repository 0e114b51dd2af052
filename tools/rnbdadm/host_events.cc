// SPDX-License-Identifier: GPL-2.0
// Events of the kernel, by libudev. They are taken from the kernel itself and not from udevd, so
// that they are seen where no udevd runs.
#include "host.hh"

#include "failure.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <libudev.h>
#include <poll.h>

namespace rnbdadm {

namespace {

// What comes while an event is being handled waits there.
constexpr int kBuffer = 1 << 20;

} // namespace

void Host::watch_events(const std::vector<std::string> &subsystems, double seconds,
			const std::function<bool(const KernelEvent &)> &take) const
{
	std::unique_ptr<udev, decltype(&udev_unref)> context(udev_new(), udev_unref);
	if (!context)
		throw Failure(Exit::Failed, "cannot use libudev");
	std::unique_ptr<udev_monitor, decltype(&udev_monitor_unref)> monitor(
	    udev_monitor_new_from_netlink(context.get(), "kernel"), udev_monitor_unref);
	if (!monitor)
		throw Failure(Exit::Failed, "cannot listen to the events of the kernel");
	for (const std::string &subsystem : subsystems)
		udev_monitor_filter_add_match_subsystem_devtype(monitor.get(), subsystem.c_str(),
								nullptr);
	// More than the usual only root may have; without, it is less.
	udev_monitor_set_receive_buffer_size(monitor.get(), kBuffer);
	if (int error = udev_monitor_enable_receiving(monitor.get()); error < 0)
		throw Failure(exit_of(-error),
			      fmt::format("cannot listen to the events of the kernel: {}",
					  std::strerror(-error)));
	const double end = now() + seconds;
	struct pollfd wait = {udev_monitor_get_fd(monitor.get()), POLLIN, 0};
	for (;;) {
		double left = seconds > 0 ? end - now() : 3600;
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
		KernelEvent event{wall_clock(), {}};
		struct udev_list_entry *entry = nullptr;
		udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(device.get()))
		{
			const char *value = udev_list_entry_get_value(entry);
			event.properties[udev_list_entry_get_name(entry)] = value ? value : "";
		}
		if (!take(event))
			return;
	}
}

} // namespace rnbdadm
