// SPDX-License-Identifier: GPL-2.0
// The one object of rnbd-server.
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <cxxrt/work.hh>
#include <rnbd/server/boot_losses.hh>
#include <rnbd/server/configured.hh>
#include <rnbd/server/device_look.hh>
#include <rnbd/server/device_search.hh>
#include <rnbd/server/export.hh>
#include <rnbd/server/server.h>
#include <rnbd/server/shared_disk.hh>
#include <rtrs/rtrs.h>

namespace rnbd::server {

// Storage of this machine's identity, terminator included.
constexpr usize kServerIdSize = 128;

class Module {
public:
	// No client is served before open(). The texts outlive the module. ENOMEM. May sleep.
	static Result<cxxrt::Box<Module>> create(const rnbd_server_settings &settings);
	// Ends all sessions and with them everything that is exported. May sleep.
	~Module();

	// Starts to listen at `port`, now if it shall be `serving`, and each time that it serves
	// anew. EADDRINUSE, ... May sleep.
	Status open(u16 port, bool serving);

	// ENOTCONN while it does not serve: limits of the transport are unknown before.
	Result<u32> max_io_bytes() const;

	const char *search_path() const { return search_path_; }
	// Another one than before if writes may have been lost since (protocol D.5), never 0.
	u64 instance() const { return instance_; }
	// Of disks that could not be flushed when they were closed, before they can be opened
	// again.
	BootLosses &losses() { return losses_; }
	// What tells this machine from others.
	const char *server_id() const { return server_id_.c_str(); }
	DeviceSearches &searches() { return searches_; }
	Exports &exports() { return exports_; }
	SharedDisks &disks() { return *disks_; }
	// Where mappings and sessions end, each in an item that waits for its own disk only.
	const cxxrt::Workqueue &endings() const { return endings_; }
	ConfiguredExports &configured() { return configured_; }

private:
	template <class T, class... Args>
	friend Result<cxxrt::Box<T>> cxxrt::make_box(gfp_t, Args &&...);
	explicit Module(const rnbd_server_settings &settings)
	    : search_path_(settings.search_path), instance_(settings.instance ?: boot_instance()),
	      configured_(settings.exports_only)
	{
	}

	static u64 boot_instance();

	// Under the lock of serving_.
	struct Serving {
		rtrs_srv *server = nullptr;
		u16 port = 0;
		bool ending = false;
	};
	Status start(Serving &s);
	Status stop(Serving &s);

	Result<cxxrt::ClassDevice> create_ctl();
	void show_serving(cxxrt::SysfsText &text);
	Status store_serving(TextView text, cxxrt::SysfsCall &call);
	void show_instance(cxxrt::SysfsText &text);
	void show_reservations(cxxrt::SysfsText &text);
	void show_clear_reservations(cxxrt::SysfsText &text);
	Status store_clear_reservations(TextView text, cxxrt::SysfsCall &call);

	const char *search_path_;
	cxxrt::TextBuffer<kServerIdSize> server_id_;
	const u64 instance_;
	BootLosses losses_;
	// What serving_ has, for sessions, which are up from some time within start() on, in other
	// threads. Null while it does not serve.
	rtrs_srv *server_ = nullptr;
	// Held while it starts or stops, which waits for sessions: none of theirs takes it.
	cxxrt::Guarded<Serving, cxxrt::Mutex> serving_{cxxrt::lock_class<"rnbd-server serving">()};

	// Longer than the files that tell of it.
	cxxrt::Box<SharedDisks> disks_;
	// /sys/class/rnbd-server/ctl/; destroyed in the opposite order.
	cxxrt::DeviceClass device_class_;
	cxxrt::ClassDevice ctl_;
	cxxrt::SysfsDir devices_;
	DeviceLooks looks_{server_id_.c_str()};
	DeviceSearches searches_{looks_};
	Exports exports_;
	ConfiguredExports configured_;
	// Destroyed first: its work uses the rest.
	cxxrt::Workqueue endings_;
};

// For the calls of the transport; while the module is loaded.
extern Module *module_;

} // namespace rnbd::server
