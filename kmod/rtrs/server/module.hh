// SPDX-License-Identifier: GPL-2.0
// The one object of rtrs-server: what lives as long as the module is loaded.
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/debugfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/work.hh>
#include <rtrs/pure/listen_rules.hh>
#include <rtrs/pure/memory_budget.hh>
#include <rtrs/pure/quota.hh>
#include <rtrs/server/entry.h>
#include <rtrs/server/key_lists.hh>
#include <rtrs/server/refusals.hh>
#include <rtrs/server/server.hh>
#include <rtrs/wire/immediate.hh>

namespace rtrs::server {

// The checked parameters, and what follows from them. The same for all sessions.
struct Settings {
	bool always_invalidate;
	bool capsules; // are offered to clients that know them (protocol J.2)
	ImmLayout layout;
	u32 header_size; // of a chunk, not for data: a page (protocol A.1)

	u32 queue_depth() const { return layout.queue_depth().value; }
	u32 chunk_size() const { return layout.chunk_size().value; }
	u32 max_io_size() const { return chunk_size() - header_size; }
};

// The administrator's limits, which may change at any time: as they are now.
class Limits {
public:
	explicit Limits(const rtrs_server_limits &live) : live_(live) {}

	PathLimits paths() const
	{
		return {
		    .paths = READ_ONCE(live_.max_paths),
		    .paths_per_host = READ_ONCE(live_.max_paths_per_host),
		    .connections = READ_ONCE(live_.max_connections),
		    .connections_per_host = READ_ONCE(live_.max_connections_per_host),
		};
	}
	// Of those that a client asks for in one path.
	u32 grant(u32 connections) const
	{
		return grant_connections(connections, READ_ONCE(live_.max_connections_per_path));
	}
	SessionLimits sessions() const
	{
		return {
		    .sessions = READ_ONCE(live_.max_sessions),
		    .sessions_per_host = READ_ONCE(live_.max_sessions_per_host),
		    .pinned_bytes = u64{READ_ONCE(live_.max_pinned_mb)} << 20,
		};
	}
	MemoryLimits memory(bool has_keys) const
	{
		return memory_limits(u64{totalram_pages()} << PAGE_SHIFT,
				     u64{READ_ONCE(live_.max_memory_mb)} << 20,
				     u64{READ_ONCE(live_.max_memory_per_host_mb)} << 20, has_keys);
	}

private:
	const rtrs_server_limits &live_;
};

struct Module {
	Module(const Settings &s, const rtrs_server_limits &l) : settings(s), limits(l) {}

	void show_refusals(cxxrt::DebugText &text);

	const Settings settings;
	const Limits limits;
	RefusalCounters refusals;
	// No work waits for another one of its queue, nor for a disk. Handshakes and fences, which
	// wait for the device and the user.
	cxxrt::Workqueue control;
	// Ends of paths, which wait for those above, the device, and the user.
	cxxrt::Workqueue closing;
	// Limits of handshakes, which wait for nothing.
	cxxrt::Workqueue timers;
	// Connection requests, host by host, of strangers and of hosts that have proven themselves.
	// They wait for the device, and for ends of paths as long as kRoomTimeoutMs.
	cxxrt::Workqueue strangers;
	cxxrt::Workqueue known_hosts;
	// Heartbeats and requests that waited for their slot: never behind the others.
	cxxrt::Workqueue io;
	cxxrt::DeviceClass device_class;
	cxxrt::DebugDir debug_dir;
	KeyLists key_lists;
	// The administrator's, which may change at any time.
	cxxrt::Guarded<ListenRules, cxxrt::Mutex> listen{cxxrt::lock_class<"rtrs_server_listen">()};
	cxxrt::Guarded<cxxrt::Box<Server>, cxxrt::Mutex> server{cxxrt::lock_class<"rtrs_server">()};
};

// The administrator's, which may change at any time.
AuthPolicy auth_policy();

// Set by init before any export can be called, cleared by exit when no user is left.
extern Module *module_;

inline const Settings &settings()
{
	return module_->settings;
}

} // namespace rtrs::server
