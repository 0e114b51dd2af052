// SPDX-License-Identifier: GPL-2.0
// The directory /sys/block/rnbd<N>/rnbd (protocol F.3).
#pragma once

#include <cxxrt/sysfs.hh>
#include <rnbd/wire/units.hh>

namespace rnbd::client {

class Device;

class DeviceDirectory {
public:
	explicit DeviceDirectory(Device &device) : device_(device) {}

	// What the kernel refuses. May sleep.
	Status create(kobject *parent);
	// No command is running then. May sleep as long as a running one takes.
	void remove();

	// The attributes.
	void show_unmap(cxxrt::SysfsText &out);
	Status store_unmap(TextView text, cxxrt::SysfsCall &call);
	void show_resize(cxxrt::SysfsText &out);
	Status store_resize(TextView text, cxxrt::SysfsCall &call);
	void show_remap(cxxrt::SysfsText &out);
	Status store_remap(TextView text, cxxrt::SysfsCall &call);
	void show_path(cxxrt::SysfsText &out);
	void show_session(cxxrt::SysfsText &out);
	void show_owner(cxxrt::SysfsText &out);
	void show_access_mode(cxxrt::SysfsText &out);
	void show_poll_queues(cxxrt::SysfsText &out);
	void show_state(cxxrt::SysfsText &out);
	void show_wwid(cxxrt::SysfsText &out);
	void show_no_path_timeout(cxxrt::SysfsText &out);
	Status store_no_path_timeout(TextView text, cxxrt::SysfsCall &call);
	void show_waiting(cxxrt::SysfsText &out);
	void show_oldest(cxxrt::SysfsText &out);
	void show_slow(cxxrt::SysfsText &out);

private:
	Device &device_;
	cxxrt::SysfsDir dir_;
};

} // namespace rnbd::client
