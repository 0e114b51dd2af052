// SPDX-License-Identifier: GPL-2.0
// The one object of rtrs-core: what lives as long as the module is loaded.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <cxxrt/log.hh>
#include <cxxrt/result.hh>
#include <rtrs/core/device.hh>

namespace rtrs {

class DeviceRegistry {
public:
	// See DeviceRef::find(). May sleep.
	cxxrt::Result<rtrs_device *> find(ib_device *ibdev);
	// May sleep.
	void put(rtrs_device *device);

private:
	// Warns at its end if a device is still in use.
	using List = cxxrt::List<rtrs_device, &rtrs_device::registry>;

	static rtrs_device *find_locked(List &list, ib_device *ibdev);

	cxxrt::Guarded<List, cxxrt::Mutex> list_{cxxrt::lock_class<"rtrs_devices">()};
};

struct CoreModule {
	DeviceRegistry devices;
};

// Set by init before any export can be called, cleared by exit when no user is left.
extern CoreModule *module_;

} // namespace rtrs
