// SPDX-License-Identifier: GPL-2.0
// Everything of rnbd-client that has a life of its own: one object from load to unload.
#pragma once

#include <cxxrt/id.hh>
#include <cxxrt/inflight.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/work.hh>
#include <rnbd/client/control.hh>
#include <rnbd/client/disk.hh>
#include <rnbd/client/sessions.hh>

namespace rnbd::client {

class Module {
public:
	// What the kernel refuses. May sleep.
	static Result<cxxrt::Box<Module>> create();
	Module();
	// Unmaps all devices (nobody has one open, for that would hold the module), closes all
	// sessions, and waits until no code of the module can be running. Sleeps.
	~Module();
	Module(const Module &) = delete;
	Module &operator=(const Module &) = delete;

	// What a write into map_device asks for. Errors of protocol F.3. Sleeps long.
	Status map_device(const MapOptions &options, const Destination &destination);

	// A new T, counted until it calls object_gone() at the end of its destruction. Null if
	// there is no memory, or the module goes. May sleep.
	template <class T, class... Args> T *new_object(Args &&...args)
	{
		if (!objects_->enter())
			return nullptr;
		T *object = new (GFP_KERNEL) T(cxxrt::forward<Args>(args)...);
		if (!object)
			objects_->leave();
		return object;
	}
	void object_gone() { objects_->leave(); }

	// Of disks. ENOSPC, ENOMEM. May sleep.
	Result<u32> allocate_index() { return indexes_.allocate(kMaxDiskIndex); }
	void free_index(u32 index) { indexes_.free(index); }
	bool stopping() const { return READ_ONCE(stopping_); }
	kobject *devices_kobj() const { return control_.devices_kobj(); }
	SessionTable &sessions() { return sessions_; }
	// Another one for each session.
	u32 next_session() { return static_cast<u32>(atomic_inc_return(&sessions_made_)); }
	// For work that may wait for memory, in turn. What brings disks back has a queue in each
	// session.
	const cxxrt::Workqueue &background() const { return background_; }

private:
	Status start();

	bool stopping_ = false;
	atomic_t sessions_made_ = ATOMIC_INIT(0);
	cxxrt::Workqueue background_;
	cxxrt::Box<cxxrt::Inflight> objects_;
	cxxrt::IdAllocator indexes_;
	SessionTable sessions_;
	Control control_;
};

} // namespace rnbd::client
