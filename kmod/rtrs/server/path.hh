// SPDX-License-Identifier: GPL-2.0
// One path of a session: connections between one pair of addresses (protocol B.2).
//
// References: the session's list holds one from creation until the path has ended; queued works of
// its end hold one; a younger path that waits for this one to leave sysfs holds one. Completion
// handlers, CM events and sysfs methods hold none: the close work outlasts them all, and the end
// comes after all answers. The last reference is dropped in process context.
//
// Whatever goes wrong calls refuse(), fail() or close(), in any context; only the close work takes
// anything apart, in the order written at run_close(). It waits for no disk: what the user still
// has ends behind it, and then the path.
//
// No work here waits for another one of its queue. Those of the handshake and of fences look
// whether they can go on, and are queued again when that may have changed.
#pragma once

#include <cxxrt/debugfs.hh>
#include <cxxrt/inflight_event.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <cxxrt/rcu.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/sysfs.hh>
#include <cxxrt/wait.hh>
#include <rtrs/core/device.hh>
#include <rtrs/core/heartbeat.hh>
#include <rtrs/core/memory.hh>
#include <rtrs/pure/server_path_state.hh>
#include <rtrs/server/addresses.hh>
#include <rtrs/server/admission.hh>
#include <rtrs/server/connection.hh>
#include <rtrs/server/exchange.hh>
#include <rtrs/server/path_regions.hh>
#include <rtrs/server/refusals.hh>
#include <rtrs/server/stats.hh>
#include <rtrs/wire/info.hh>
#include <rtrs/wire/private_data.hh>
#include <rtrs/wire/rkey.hh>

namespace rtrs::server {

class Server;
class Session;

class Path : public cxxrt::RefCounted<Path> {
public:
	// A path for the connection request of its cid 0, without a device or any connection yet,
	// and in no session. `place` is what it counts for, and has entered the admission. With an
	// exchange it has to prove first who it is (proof.cc). ENOMEM.
	static Result<cxxrt::Ref<Path>> create(Server &server, const rdma_cm_id &id,
					       const ConnectRequestFields &fields, u32 serial,
					       u32 instance, cxxrt::Box<Exchange> exchange,
					       cxxrt::Box<Admitted> place);
	~Path();
	// Gives it to the session, whose lock is held. kSessionEnded, or ECONNRESET if too many are
	// open.
	Status join(Session &session, PathTag tag);
	// It has joined, and is one like others from here on. False if it is closing: then it is no
	// open one of the session any more.
	bool go_on();
	// From when it is on a list, which the close work takes it from. It closes if it does not
	// get CONNECTED in time.
	void start_handshake_timer();

	// ---- handshake (handshake.cc); the session's lock is held, but for connect() ----

	// What REQ of its cid 0 said.
	const ConnectRequestFields &asked() const { return asked_; }
	// Whether `fields` begins a newer attempt of the same path (protocol G.2, recon_cnt).
	bool is_older_than(const ConnectRequestFields &fields) const;
	// Whether the client has given up requests since this path's attempt began (protocol J.1).
	bool is_of_older_epoch(u32 epoch) const;
	// No connection was ever added.
	bool is_unused() const { return !connections_[0]; }
	// As many as were granted.
	u32 connection_count() const { return asked_.connection_count; }
	// A connection request of the path, in the work item that serves it, which holds a
	// reference and no lock: opens the device for the first one, and waits for room if that is
	// what is lacking. An error leaves the id with the caller, who rejects it; a path that has
	// no connection closes by it. After success the id is the path's, even if the connection
	// fails later.
	Status connect(rdma_cm_id *id, const rdma_conn_param &request,
		       const ConnectRequestFields &fields);
	// `older` has the same addresses or id and is closing; its sysfs directory may still stand.
	void succeeds(Path &older) { predecessor_ = cxxrt::Ref<Path>::share(&older); }

	// ---- state; any context ----

	ServerPathState state() const { return state_.load(); }
	bool closing() const { return is_over(state()); }
	// Inside an RcuReader scope that lasts until the post: whether the queues of this path may
	// be posted to. The close work waits for all such scopes before it drains.
	bool may_post() const { return state_.may_post(); }
	// Likewise, in one look, whether that is all that there is to ask: not where connections
	// have throttles.
	bool posts_freely() const { return state_.posts_freely(); }
	// I/O connections of this path have throttles (throttle.hh). Fixed.
	bool has_throttles() const { return state_.has_throttles(); }
	// Queues the close work; once, however often it is called.
	void close();
	// Another path of the session has come closer to its end: see whether that was waited for.
	// The session's lock is held.
	void look_again();
	// Counts why, says so in the log, and closes. Silent if the path is closing already.
	void refuse(Refusal why, const char *detail);
	// A work request completed with an error. Flushed ones say nothing.
	void fail(const ib_wc &wc);

	// ---- requests ----

	// For so many requests. False when the path is closing. Each of them is followed by a
	// leave(), after which the path may be gone; one call does for several.
	[[nodiscard]] bool enter(u32 count) { return inflight_->enter(count); }
	void leave(u32 count = 1) { inflight_->leave(count); }

	// ---- INFO exchange (info.cc) ----

	// In the completion handler: the message has come. Queues the rest.
	void on_info_request(ByteView message);
	// A work request of the handshake has completed: there may be room for the next.
	void on_setup_sent();
	// REP of one more connection is about to be sent.
	void accepts_one() { __atomic_fetch_add(&accepted_, 1, __ATOMIC_RELEASE); }
	// Whether all connections are there; then their number never changes. Any context.
	bool all_accepted() const
	{
		return __atomic_load_n(&accepted_, __ATOMIC_ACQUIRE) == connection_count();
	}
	// FENCE, in a completion handler: the rest runs on the control queue.
	void on_fence(u32 serial);
	// Queues are drained, parked requests dropped, and the user knows: what the client sent on
	// this path and has not begun yet never will. Any context.
	bool quiet() const { return __atomic_load_n(&progress_, __ATOMIC_ACQUIRE) >= kQuiet; }
	// Also its directory in sysfs has gone, for good.
	bool hidden() const { return __atomic_load_n(&progress_, __ATOMIC_ACQUIRE) >= kHidden; }
	// Also every request that the user had has been answered.
	bool ended() const { return __atomic_load_n(&progress_, __ATOMIC_ACQUIRE) >= kEnded; }
	const DmaBuffer &info_request() const { return info_request_; }

	// ---- parts, for the code of this folder ----

	Server &server() { return server_; }
	// Of a path that is in one.
	Session &session() { return *session_; }
	// Protocol J.1: what REP says of the session that the path is to be in.
	u32 instance() const { return instance_; }
	// Protocol J.3; null if nobody has to prove anything, and once that is over.
	Exchange *proof() { return exchange_.get(); }
	// The key that was proven; null if there is none.
	const KeyId *key() const { return key_.get(); }
	const char *name() const { return name_.c_str(); }
	PathTag tag() const { return tag_; }
	// Protocol J.1: whether the client knows fences, and the number it knows this path by.
	bool fences() const { return asked_.fences; }
	// Protocol J.2: both sides know capsules.
	bool capsules() const { return capsules_; }
	// Protocol J.4: both sides send heartbeats at the short interval.
	bool short_heartbeats() const
	{
		return heartbeat_limits_.interval_ms == kShortHeartbeatIntervalMs;
	}
	u32 serial() const { return serial_; }
	const Uuid &id() const { return asked_.path; }
	// What REP says of their number (protocol J.5); 0 to a client that could not do with fewer.
	u16 granted_connections() const
	{
		return asked_.fewer_connections ? asked_.connection_count : u16{0};
	}
	const PathEnds &ends() const { return ends_; }
	// By which it is counted.
	const Source &source() const { return admitted_->source; }
	// Whether its client has heard an answer: it has taken one up, or sent a message. Any
	// context.
	bool heard() const { return READ_ONCE(heard_); }
	void on_heard() { WRITE_ONCE(heard_, true); }
	const PathDevice &device() const { return device_; }
	HeartbeatTimer &heartbeat() { return heartbeat_; }
	PathRegions &regions() { return regions_; }
	// What answers carry: an RkeyResponse or AnswerCapsule for each slot.
	const DmaBuffer &answers() const { return answers_; }
	cxxrt::PerCpu<PathStats> &stats() { return stats_; }
	cxxrt::PerCpu<WrCounters> &wr_counters() { return wr_counters_; }
	// A completion vector for a connection: neighbours spread over the device's vectors.
	int vector_for(u16 cid) const;

	cxxrt::ListNode session_node; // under the session's lock
	bool shown = false;	      // has its sysfs directory; likewise
	bool up = false;	      // counted by Session::bring_up(); under its user_lock_

	// ---- sysfs (sysfs.cc); the session's lock is held ----

	Status show(kobject *parent, const cxxrt::DebugDir &debug);
	void hide();

private:
	class State {
	public:
		ServerPathState load() const
		{
			return state_of(__atomic_load_n(&value_, __ATOMIC_ACQUIRE));
		}
		bool may_post() const
		{
			return __atomic_load_n(&value_, __ATOMIC_ACQUIRE) & kPosts;
		}
		bool posts_freely() const
		{
			return __atomic_load_n(&value_, __ATOMIC_ACQUIRE) ==
			       (static_cast<u8>(ServerPathState::Connected) | kPosts);
		}
		bool has_throttles() const { return READ_ONCE(value_) & kHasThrottles; }
		// False if the table does not allow it from the present state, which is `from`
		// afterwards.
		bool move(ServerPathState to, ServerPathState &from);

		// Before the path is on a list.
		void begin_applying() { value_ = static_cast<u8>(ServerPathState::Applying); }
		void give_throttles()
		{
			__atomic_fetch_or(&value_, kHasThrottles, __ATOMIC_RELAXED);
		}

	private:
		enum : u8 {
			kPosts = 0x40,	      // of Connected, and of no other
			kHasThrottles = 0x80, // stays as it is while the state changes
		};
		static ServerPathState state_of(u8 value)
		{
			return static_cast<ServerPathState>(value & ~(kPosts | kHasThrottles));
		}

		u8 value_ = static_cast<u8>(ServerPathState::Connecting);
	};

	Path(Server &server, const rdma_cm_id &id, const ConnectRequestFields &fields, u32 serial,
	     u32 instance, cxxrt::Box<Exchange> exchange, cxxrt::Box<Admitted> place);
	Status allocate();
	Status open_device(ib_device *ibdev);
	Status add_connection(rdma_cm_id *id, const rdma_conn_param &request,
			      const ConnectRequestFields &fields);
	void await_connection_requests();
	Status provide();
	Status allocate_regions();
	// Likewise, traced.
	bool move(ServerPathState to);

	void handshake_timeout();
	static void give_way(void *path);
	static void heartbeat_lost(void *path);
	void wake_stalled();

	void run_info();
	Status admit();
	// proof.cc
	Status check_proof();
	Status refuse_proof(Status why);
	Status add_proof(usize size);
	Status check_policy();
	Status check_name();
	void revalidate_auth();
	void run_fence();
	Status post_fence_done(u32 serial);
	Status await_others();
	Status become_connected();
	Status send_info_response();
	Status claim_name();
	Status register_all(ServerConnection &service);
	template <class Post> Status post_setup(Post &&post);

	void run_close();
	static void all_left(void *path);
	void run_end();
	// How far the path is on its way down.
	enum Progress : u8 { kOpen, kQuiet, kHidden, kEnded };
	void reach(Progress progress);

	// Files of sysfs.
	void show_hca_name(cxxrt::SysfsText &text);
	void show_hca_port(cxxrt::SysfsText &text);
	void show_src_addr(cxxrt::SysfsText &text);
	void show_dst_addr(cxxrt::SysfsText &text);
	void show_proven(cxxrt::SysfsText &text);
	void show_disconnect(cxxrt::SysfsText &text);
	Status store_disconnect(TextView input, cxxrt::SysfsCall &call);
	void show_rdma(cxxrt::SysfsText &text);
	Status store_rdma(TextView input, cxxrt::SysfsCall &call);
	void show_completions(cxxrt::SysfsText &text);
	Status store_completions(TextView input, cxxrt::SysfsCall &call);
	void show_reset_all(cxxrt::SysfsText &text);
	Status store_reset_all(TextView input, cxxrt::SysfsCall &call);
	void show_work_requests(cxxrt::DebugText &text);

	Server &server_;
	const ConnectRequestFields asked_;
	const HeartbeatLimits heartbeat_limits_; // protocol J.4
	const u32 serial_;
	const u32 instance_;
	const PathEnds ends_;
	cxxrt::TextBuffer<RTRS_PAIR_TEXT> name_;
	cxxrt::TextBuffer<IB_DEVICE_NAME_MAX> hca_name_;
	const u32 hca_port_;
	int vector_base_ = 0;

	u32 fence_serial_ = 0;		      // of the fence that run_fence() works on, 0 for none
	const cxxrt::Box<Admitted> admitted_; // under the admission's lock
	u32 accepted_ = 0;		      // connections whose REP is sent, or about to be
	bool heard_ = false;
	bool has_slots_ = false; // its session has them, and this path uses them; of info_
	bool announced_ = false; // INFO_RSP is posted, and all that watches the path has begun
	// One connection request at a time; outside of the handler lock of its id.
	cxxrt::Mutex connect_lock_{cxxrt::lock_class<"rtrs_connect">()};
	PathDevice device_; // of the first one, under it
	DmaBuffer info_request_;
	DmaBuffer info_response_;

	// What each request needs, on few lines.
	alignas(cxxrt::kCacheLine) cxxrt::Ref<Session> session_; // from join() on
	PathTag tag_{};						 // likewise
	const bool capsules_;
	State state_;
	u8 progress_ = kOpen;
	PathRegions regions_; // behind session_, whose chunks they map: so they go first
	DmaBuffer answers_;   // by slot; empty where answers carry nothing
	cxxrt::PerCpu<WrCounters> wr_counters_;
	cxxrt::PerCpu<PathStats> stats_;
	cxxrt::Box<cxxrt::InflightEvent> inflight_;
	// By cid. Filled under connect_lock_ while CONNECTING, emptied by the close work.
	cxxrt::Array<cxxrt::Box<ServerConnection>> connections_;

	cxxrt::Box<Exchange> exchange_; // until CONNECTED; by connection requests, then by info_
	cxxrt::Box<KeyId> key_;		// of info_, until CONNECTED
	KeyIdentity key_identity_ = {}; // of that key; likewise
	u32 info_size_ = 0;		// of INFO_REQ, before info_ runs
	unsigned long info_at_ = 0;	// jiffies of its arrival, likewise
	bool info_due_ = false;		// it has arrived; set once
	cxxrt::TextBuffer<kSessionNameSize> wanted_name_; // of info_
	bool life_asked_ = false;			  // of who has the name; of info_
	cxxrt::WaitQueue setup_wait_;
	u32 setup_completions_ = 0;
	cxxrt::Ref<Path> predecessor_;
	bool starved_ = false; // what is large does not get through

	cxxrt::SysfsDir dir_;
	cxxrt::SysfsDir stats_dir_;
	cxxrt::DebugDir debug_dir_;

	ServerConnection::Handler heartbeat_handler_;
	HeartbeatTimer heartbeat_;
	cxxrt::DelayedWork<Path, &Path::wake_stalled> stalls_;
	cxxrt::DelayedWork<Path, &Path::handshake_timeout> handshake_timer_;
	cxxrt::DelayedWork<Path, &Path::revalidate_auth> revalidate_;
	cxxrt::DelayedWork<Path, &Path::run_info> info_;
	cxxrt::DelayedWork<Path, &Path::run_fence> fence_;
	cxxrt::RefWork<Path, &Path::run_close> close_;
	cxxrt::RefWork<Path, &Path::run_end> end_;
};

} // namespace rtrs::server
