// SPDX-License-Identifier: GPL-2.0
// /sys/class/rnbd-client/ctl: where devices are mapped (protocol F.3).
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/sysfs.hh>
#include <rnbd/client/discover.hh>
#include <rnbd/pure/map_options.hh>

namespace rnbd::client {

class Module;

class Control {
public:
	explicit Control(Module &module) : module_(module) {}

	// What the kernel refuses. May sleep.
	Status create();
	// No command is running, and none will be. May sleep as long as a running one takes.
	void stop_commands();
	// All links are gone. May sleep.
	void remove();
	// The directory of the links to mapped devices.
	kobject *devices_kobj() const { return devices_.kobj(); }

	// The attribute map_device.
	void show_map(cxxrt::SysfsText &out);
	Status store_map(TextView text, cxxrt::SysfsCall &call);
	// The attributes discover and discovered.
	void show_discover(cxxrt::SysfsText &out);
	Status store_discover(TextView text, cxxrt::SysfsCall &call);
	usize read_discovered(u64 from, char *to, usize size);

private:
	Module &module_;
	cxxrt::DeviceClass class_;
	cxxrt::ClassDevice ctl_;
	cxxrt::SysfsDir devices_;
	Discovery discovery_;
	bool commands_ = false;
};

} // namespace rnbd::client
