// SPDX-License-Identifier: GPL-2.0
// A session: all paths between this client and one server, and what they have in common.
//
// Owner: the user, from rtrs_clt_open() to rtrs_clt_close(). Between them paths come and go by
// sysfs; whoever does that holds an Operation, which the close waits for.
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/debugfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/id.hh>
#include <cxxrt/percpu.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/permits.hh>
#include <rtrs/client/session_events.hh>
#include <rtrs/pure/policy.hh>
#include <rtrs/pure/session_settings.hh>
#include <rtrs/pure/sysfs_text.hh>
#include <rtrs/wire/session_name.hh>

namespace rtrs::client {

enum class SubmitKind : u8 {
	New,
	FailOver, // was in flight on a path that died
};

// EINVAL.
Result<SessionSettings> read_settings(const rtrs_clt_settings &settings);

class Session {
public:
	// Opens with all its paths, or leaves nothing behind. Sleeps, killable.
	static Result<Session *> open(const rtrs_clt_params &params, rtrs_clt **handle);
	// Ends requests, paths and the session itself. Sleeps.
	static void close(Session *session);

	// No more events and no new paths; all paths end. Does not wait for that. May sleep.
	void abandon();

	Session(const SessionName &name, const SessionAuth &auth, const SessionSettings &settings,
		const rtrs_clt_params &params);
	~Session();

	const char *name() const { return name_.c_str(); }
	const SessionName &session_name() const { return name_; }
	const Uuid &uuid() const { return uuid_; }
	const SessionAuth &auth() const { return auth_; }
	// A server has proven itself: none that does not is believed any more. Any context.
	bool was_proven() const { return READ_ONCE(proven_); }
	// An attempt goes on without the proof that it has offered. Any context.
	void count_downgrade() { __atomic_fetch_add(&downgrades_, 1, __ATOMIC_RELAXED); }
	Policy policy() const { return READ_ONCE(policy_); }
	// Whether what is said is what its files say at present. Any context.
	bool has_settings(const SessionSettings &settings) const;
	int max_reconnects() const { return READ_ONCE(max_reconnects_); }
	// Seconds; 0 is without limit.
	u32 request_timeout() const { return READ_ONCE(request_timeout_); }
	// Seconds: the longest pause before a lost path connects again.
	u32 reconnect_delay() const { return READ_ONCE(reconnect_delay_); }
	// Of what its connections send from their next beginning on; kDefaultTypeOfService.
	int tos() const { return READ_ONCE(tos_); }
	// Those of all paths; each is read by itself, at any time.
	const HeartbeatLimits &heartbeat_limits() const { return heartbeat_limits_; }
	// What the next attempt of a path asks its server for: what the session is to have, or,
	// when its first path has reached a server, what that one had room for.
	ConnectionSplit connections();
	Permits &permits() { return permits_; }

	// ---- for paths, in process context ----

	// Takes the limits of the first path, and compares those of others with them. The pointer
	// is valid as long as the session. EINVAL, after a log line that says why.
	Result<const SessionLimits *> agree(const Path &path, const ConnectReplyFields &reply,
					    const DeviceLimits &device);
	// How soon a silent peer is lost, as the server of a path says who may be believed.
	void agree_on_heartbeats(const ConnectReplyFields &reply);
	// Makes a path CONNECTED whose attempt has succeeded, with its link event (protocol B.1.4).
	// EAGAIN: requests were given up since the attempt began; EBUSY: the user still has paths
	// into a session that the server has lost, or to one that has proven nothing, unlike this
	// one; EPROTONOSUPPORT: the other way round; ECONNABORTED: the path is wanted no more.
	Status path_up(Path &path);
	void path_down(Path &path);

	// ---- ports.cc ----

	// Tells the paths that used this port last. Process context.
	void on_port_event(TextView device, u32 port, PortEvent event);

	// ---- fence.cc (protocol J.1); process context, by the owner of a path that is drained
	// ----

	// What a path carries into its attempt to connect.
	u32 epoch() const { return READ_ONCE(epoch_); }
	// Has the server end `dead`. True: its requests may go to another path. False: nobody is
	// there to ask. Sleeps.
	bool fence(const Path &dead);
	// Before requests of a dead path are given up, that is, before their done(). Sleeps.
	void give_up();
	// FENCE_DONE; any context.
	void on_fence_done(u32 serial);
	// A path left CONNECTED: it may have carried a fence. Any context.
	void path_left() { fence_changed_.wake_all(); }
	bool pair_in_use(const Path &self, const rtrs_addr_pair &pair);
	// Any context.
	bool another_connected(const Path &self);
	kobject *device_kobj() const { return device_.kobj(); }
	SessionEvents &events() { return events_; }
	kobject *paths_dir() const { return paths_dir_.kobj(); }
	const cxxrt::DebugDir &debug_dir() const { return debug_dir_; }

	// ---- requests ----

	// Any context that does not hold RCU up; see rtrs_clt_submit().
	Status submit(const rtrs_clt_request &request, SubmitKind kind = SubmitKind::New);
	// The path that still has the request, whose answer is taken for lost, starts again. As
	// submit().
	void lose_answer(Slot slot, const void *priv);
	// Posts what was kept for requests that follow, whichever path took it. As submit().
	void commit(const Hctx &hctx);
	int poll(u32 queue, io_comp_batch *batch);
	// Valid after open.
	const SessionLimits &limits() const { return *limits_; }

	// ---- paths; sleep ----

	// Adds and connects a path; killable. EEXIST for a pair that is there, ENOSPC, ENODEV
	// while the session ends, or what connecting met.
	Status add_path(const rtrs_addr_pair &pair);
	// Closes, removes and frees the path, from its own sysfs file. ENODEV while the session
	// ends, EBUSY while the path connects first. The path may not be touched afterwards,
	// whatever the result.
	Status remove_path(Path &path, cxxrt::SysfsCall &call);

	cxxrt::ListNode node; // in ClientModule::sessions

private:
	using Paths = cxxrt::RcuList<Path, &Path::node>;
	struct LastPath {
		u64 address; // compared, never followed: it may be stale
	};

	// A sysfs method holds the session open with an Operation.
	class Operation;
	struct Operations {
		u32 running = 0;
		bool closing = false; // no new one
	};
	bool closing()
	{
		return operations_.with([](Operations &o) { return o.closing; });
	}

	Status bring_up(const rtrs_clt_params &params);
	void shut_down();
	Status enable_events(rtrs_clt **handle);
	void announce_downgrades();
	Result<Path *> create_path(const rtrs_addr_pair &pair);
	Status insert(Path &path);
	void retire(Path &path);

	void apply_heartbeat_limits();

	// fence.cc
	// Which paths could carry a fence: no one; such that have no room for it now; some have it.
	enum class Carriers : u8 { None, Busy, Asked };
	Carriers ask_carriers(const Path &dead);
	bool is_carried(u32 serial);
	bool server_lost_us(const Path &path);
	Status check_standing(const Path &path);

	// ports.cc
	void leave_dead_ports();

	// choice.cc
	Path *choose(const TriedPaths &tried);
	const void *last_choice() const;
	Path *note_choice(Path *path);
	Status choose_and_submit(const rtrs_clt_request &request, SubmitKind kind);

	// session_sysfs.cc
	Status create_files();
	void remove_files();
	void show_max_reconnects(cxxrt::SysfsText &out);
	void show_request_timeout(cxxrt::SysfsText &out);
	void show_reconnect_delay(cxxrt::SysfsText &out);
	void show_tos(cxxrt::SysfsText &out);
	void show_heartbeat_interval(cxxrt::SysfsText &out);
	void show_heartbeat_missed(cxxrt::SysfsText &out);
	void show_connections(cxxrt::SysfsText &out);
	void show_queue_depth(cxxrt::SysfsText &out);
	void show_policy(cxxrt::SysfsText &out);
	void show_dest_port(cxxrt::SysfsText &out);
	void show_auth(cxxrt::SysfsText &out);
	void show_key(cxxrt::SysfsText &out);
	void show_downgrades(cxxrt::SysfsText &out);
	void show_add_path(cxxrt::SysfsText &out);
	Status store_max_reconnects(TextView text, cxxrt::SysfsCall &);
	Status store_request_timeout(TextView text, cxxrt::SysfsCall &);
	Status store_reconnect_delay(TextView text, cxxrt::SysfsCall &);
	Status store_tos(TextView text, cxxrt::SysfsCall &);
	Status store_heartbeat_interval(TextView text, cxxrt::SysfsCall &);
	Status store_heartbeat_missed(TextView text, cxxrt::SysfsCall &);
	Status store_policy(TextView text, cxxrt::SysfsCall &);
	Status store_add_path(TextView text, cxxrt::SysfsCall &);
	static const cxxrt::DeviceFile<Session> kFiles[];

	const SessionName name_;
	const SessionAuth auth_;
	Uuid uuid_{};
	void *const user_;
	void (*const link_event_)(void *user, rtrs_clt_event event);
	const u16 port_;
	const u32 queues_;	     // whose numbers requests say
	const u32 told_connections_; // 0: one for each queue
	const u32 told_depth_;	     // requests under way; 0: as many as the server takes
	const ConnectionSplit asked_connections_;
	int max_reconnects_;
	u32 request_timeout_;
	u32 reconnect_delay_;
	int tos_;
	HeartbeatLimits heartbeat_limits_; // written under paths_lock_
	Policy policy_;

	// Writers of the list and of the members behind it. Nobody waits for a path with it.
	cxxrt::Mutex paths_lock_{cxxrt::lock_class<"rtrs_paths">()};
	Paths paths_;
	cxxrt::IdAllocator indices_;
	cxxrt::Box<SessionLimits> limits_; // set once
	HeartbeatChoice heartbeat_choice_;

	cxxrt::Guarded<Operations, cxxrt::SpinLock> operations_{
	    cxxrt::lock_class<"rtrs_operations">()};
	cxxrt::WaitQueue operations_done_{cxxrt::lock_class<"rtrs_operations_done">()};

	// Serialises link events.
	cxxrt::Mutex links_lock_{cxxrt::lock_class<"rtrs_links">()};
	u32 paths_up_ = 0;
	bool events_enabled_ = false;
	u32 epoch_ = 1;	      // written under links_lock_
	bool proven_ = false; // written under links_lock_, once
	u64 downgrades_ = 0;

	// One fence at a time. Of the locks within it, Documentation/locking.md has the list.
	cxxrt::Mutex fence_lock_{cxxrt::lock_class<"rtrs_fence">()};
	cxxrt::WaitQueue fence_changed_{cxxrt::lock_class<"rtrs_fence_changed">()};
	u32 fence_wanted_ = 0; // serial of the path to be fenced; 0 when the server has said so

	Permits permits_;
	cxxrt::PerCpu<LastPath> last_path_; // of round-robin
	SessionEvents events_{*this};
	cxxrt::ClassDevice device_;
	cxxrt::SysfsDir paths_dir_;
	cxxrt::DebugDir debug_dir_;
};

} // namespace rtrs::client
