// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/module.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/client.h>
#include <rnbd/client/device.hh>
#include <rnbd/client/disk.hh>

namespace rnbd::client {

namespace {
constinit Module *module_ = nullptr;
}

Module::Module() : sessions_(*this), control_(*this) {}

Result<cxxrt::Box<Module>> Module::create()
{
	auto module = TRY(cxxrt::make_box<Module>(GFP_KERNEL));
	TRY(module->start());
	return module;
}

Status Module::start()
{
	objects_ = TRY(cxxrt::Inflight::create());
	background_ = TRY(cxxrt::Workqueue::create("rnbd_client_background", WQ_UNBOUND));
	return control_.create();
}

// Runs for a module that failed to start, too.
Module::~Module()
{
	WRITE_ONCE(stopping_, true);
	// A map that waits for a silent server would be waited for below.
	rtrs_clt_abandon_all();
	// Nor for one that waits for a path. Whoever begins to wait now looks at stopping() first.
	sessions_.for_each([](Session &session) { session.stop_awaiting(); });
	// No new session or device.
	control_.stop_commands();
	// All devices at once; the last of each session closes it. No request can be in flight,
	// since each has an opener behind it.
	sessions_.for_each([](Session &session) {
		session.with_link([](Link &link) {
			for (Device &device : link.devices)
				device.start_unmap_at_unload();
		});
	});
	// Disks are freed by whoever drops their last reference, somewhere in the kernel.
	if (objects_)
		objects_->close();
	background_.reset();
	control_.remove();
	// Functions of ours that let go of the last object (free_disk, a write into unmap_device)
	// may still have to return. They don't sleep on that way, so they have when every task has
	// slept once.
	synchronize_rcu_tasks();
}

Status Module::map_device(const MapOptions &options, const Destination &destination)
{
	const DeviceName name = TRY(DeviceName::from(options.device_path));
	if (sessions_.is_mapped(options.session, options.device_path)) {
		log_error(name.c_str(), "Device is mapped on this session already");
		return err::eexist;
	}
	log_info(name.c_str(),
		 "Mapping device %s on session %.*s (access_mode: %s, nr_poll_queues: %u)",
		 name.c_str(), static_cast<int>(options.session.size()), options.session.data(),
		 to_text(options.access_mode), options.poll_queues);
	SessionUse use = TRY(sessions_.acquire(options.session, options.poll_queues, destination));
	Ref<Device> device =
	    TRY(Device::create(cxxrt::move(use), name, options.access_mode, options.owner));
	return device->map(options.no_path_timeout);
}

} // namespace rnbd::client

CXXRT_FOR_C int rnbd_client_start()
{
	using namespace rnbd::client;
	cxxrt::Result<cxxrt::Box<Module>> created = Module::create();
	if (!created.ok())
		return created.code();
	module_ = created.take().release();
	return 0;
}

CXXRT_FOR_C void rnbd_client_stop()
{
	using namespace rnbd::client;
	delete module_;
	module_ = nullptr;
}
