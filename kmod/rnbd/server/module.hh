// SPDX-License-Identifier: GPL-2.0
// The one object of rnbd-server.
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/memory.hh>
#include <rnbd/server/configured.hh>
#include <rnbd/server/export.hh>
#include <rnbd/server/server.h>
#include <rtrs/rtrs.h>

namespace rnbd {

class Module {
public:
	// Nobody is served before open(). The texts outlive the module. ENOMEM. May sleep.
	static Result<cxxrt::Box<Module>> create(const rnbd_server_settings &settings);
	// Ends all sessions and with them everything that is exported. May sleep.
	~Module();

	// Starts to listen. EADDRINUSE, ... May sleep.
	Status open(u16 port);

	// ENOTCONN until open() has returned: limits of the transport are unknown before.
	Result<u32> max_io_bytes() const;

	const char *search_path() const { return search_path_; }
	// What tells this run of the module from others, never 0.
	u64 instance() const { return instance_; }
	// What tells this machine from others.
	const char *server_id() const { return server_id_; }
	Exports &exports() { return exports_; }
	ConfiguredExports &configured() { return configured_; }

private:
	template <class T, class... Args>
	friend Result<cxxrt::Box<T>> cxxrt::make_box(gfp_t, Args &&...);
	explicit Module(const rnbd_server_settings &settings)
	    : search_path_(settings.search_path), server_id_(settings.server_id),
	      instance_(get_random_u64() | 1), configured_(settings.exports_only)
	{
	}

	const char *search_path_;
	const char *server_id_;
	const u64 instance_;
	// Sessions are up from some time within open() on, in other threads.
	rtrs_srv *server_ = nullptr;

	// /sys/class/rnbd-server/ctl/devices; destroyed in the opposite order.
	cxxrt::DeviceClass device_class_;
	cxxrt::ClassDevice ctl_;
	cxxrt::SysfsDir devices_;
	Exports exports_;
	ConfiguredExports configured_;
};

} // namespace rnbd
