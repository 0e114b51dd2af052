// SPDX-License-Identifier: GPL-2.0
// One path of a session: a source and a destination address and all connections between them.
//
// Its work item is the only owner of its life (protocol B.1). Everybody else records what he saw
// or wants, by fail(), request_*() or reconnect(), and wakes the owner. The states and what may
// follow what are rtrs/pure/client_path_state.hh. An attempt to connect, which waits long, is an
// item of its own on a queue of its own (module.hh): while it runs, it is the owner, and hands
// back.
//
//	Connecting ──> Connected ──fail()──> Reconnecting ──pause──> Connecting
//	     └─fail()─> ConnectingError ──────────┘   (the first attempt ends here instead)
//	any ──request_close()──> Closing ──> Closed ──reconnect()──> Reconnecting
//	                                        └──request_end()──> Dead
#pragma once

#include <cxxrt/debugfs.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/percpu.hh>
#include <cxxrt/print.hh>
#include <cxxrt/rcu.hh>
#include <cxxrt/sysfs.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/exchange.hh>
#include <rtrs/client/limits.hh>
#include <rtrs/client/request.hh>
#include <rtrs/client/session_events.hh>
#include <rtrs/client/stats.hh>
#include <rtrs/core/device.hh>
#include <rtrs/core/heartbeat.hh>
#include <rtrs/pure/client_path_state.hh>
#include <rtrs/pure/quarantine.hh>
#include <rtrs/pure/reconnect_backoff.hh>

namespace rtrs::client {

// For what the connection manager times itself, a little longer than its timeout: then its event
// says what failed (protocol A.1, B.1.5).
constexpr unsigned long kStepTimeout = kConnectTimeoutMs / 1000 * HZ + HZ;

class Session;

// What chooses among the connections of a path; see rtrs_clt_request.
struct Hctx {
	u32 poll_queue;
	u32 queue;
};

class Path {
public:
	Path(Session &session, u32 index, const rtrs_addr_pair &pair);
	// The owner has ended (Dead), or never ran.
	~Path();
	// Allocates what lives as long as the path. ENOMEM. May sleep.
	Status prepare();
	// Before the first attempt: the path may create the session on the server (protocol A.8).
	void may_create_session() { first_connection_ = true; }

	Session &session() { return session_; }
	u32 index() const { return index_; }
	// "<session> <src@dst>", for log lines.
	const char *log_name() const { return log_name_.c_str(); }
	ClientPathState state() const { return smp_load_acquire(&state_); }
	bool connected() const { return state() == ClientPathState::Connected; }
	// Automatic ones since the path was connected.
	u32 reconnect_attempts() const { return READ_ONCE(attempts_); }
	// Same source, if both have one, and same destination.
	bool same_addresses(const rtrs_addr_pair &pair);

	// ---- wishes; those that wait are killable (EINTR) and may sleep ----

	// Starts the first attempt and waits for its end. What it met.
	Status connect_first();
	// It has connected first, and whoever made it is done with it. Until then nobody else may
	// end it for good.
	void settle() { smp_store_release(&settled_, true); }
	bool settled() const { return smp_load_acquire(&settled_); }
	// Drops what is there and connects anew; waits for the end of the attempt. EBUSY when the
	// state does not allow it, ENOTCONN when it failed. IfLost: a path that is connected stays
	// as it is, also one that has become so since somebody looked.
	enum class Reconnect : u8 { Anyway, IfLost };
	Status reconnect(Reconnect when);
	// Any context. The path goes down and stays there until reconnect().
	void request_close();
	Status disconnect();
	// Any context. As request_close(), and for good.
	void request_end();
	// The session's interval has changed. Any context.
	void restart_heartbeat();
	// Uninterruptible; certain to come after request_end(): no step of the owner waits for
	// long, and each wait ends when the state changes.
	void wait_end();
	// After wait_end().
	void remove_files();

	// ---- ports (ports.cc); process context ----

	// The port that the path used last.
	bool uses_port(TextView device, u32 port);
	void on_port_event(PortEvent event);
	bool port_down() const { return READ_ONCE(port_down_); }

	// ---- called from connections, in any context ----

	// Something went wrong: leaves Connected or Connecting, if it is in one of them.
	// `kind` is how it is counted while the path is connected, `reason` what is known beyond.
	void fail(Error error, PathError kind, PathReason reason = PathReason::None);
	// Wakes the owner out of await().
	void wake() { changed_.wake_all(); }
	// Leaves Connected or Connecting, if it is there, and comes back at once, for an attempt of
	// the present epoch. Any context.
	void start_again(Error error, PathError kind);
	// FENCE_DONE and the like are ours alone; see limits of J.1.
	bool fences() const { return fences_; }
	// Protocol J.2: the server may answer by capsules.
	bool capsules() const { return capsules_; }
	// Every answer brings a new key of its chunk.
	bool new_keys() const { return new_keys_; }
	// The server's number for the last attempt whose cid 0 was accepted.
	u32 serial() const { return serial_; }
	u32 instance() const { return instance_; }
	// Whether the server has proven itself in the attempt that made the path CONNECTED. By the
	// attempt, or of a path that is counted.
	bool is_proven() const { return READ_ONCE(proven_); }
	// Tells user space of a path that went on without the proof that was offered. Process
	// context; the path is up, or was.
	void announce_downgrade();
	// Whether handlers may still post. Valid until the end of the RcuReader scope that the
	// caller is in.
	bool posting() const { return READ_ONCE(posting_); }
	// `key` is that of an RKEY_RSP, if the response came with one. In line: response.hh.
	void on_immediate(ClientConnection &con, Immediate imm, const Rkey *key);
	void on_traffic() { heartbeat_.on_traffic(); }
	// Of the server's heartbeats: HeartbeatTimer. Any context.
	u64 heard_mark() const { return heartbeat_.mark(); }
	bool heard_since(u64 mark) const { return heartbeat_.heard_since(mark); }
	// The request has ended; the slot is free before done() is called.
	void finish(Request &request, int status);
	// The same in line: response.hh.
	void end(Request &request, int status);

	// ---- for the steps of connections, by the owner ----

	// Waits until done() or EHOSTUNREACH and the like from fail(), ETIMEDOUT, ECONNABORTED.
	template <class F> Status await(F &&done, unsigned long timeout = kStepTimeout)
	{
		const Status s = changed_.wait_for(
		    timeout, [&] { return done() || state() != ClientPathState::Connecting; });
		if (state() != ClientPathState::Connecting)
			return failure();
		return s;
	}
	// Whatever the state: what is waited for is certain to come.
	template <class F> void await_answer(F &&done)
	{
		WARN_ON_ONCE(!changed_.wait_for(kStepTimeout, static_cast<F &&>(done)).ok());
	}
	// Until then (jiffies), or as await().
	Status sleep_until(unsigned long due)
	{
		if (time_after(due, jiffies))
			(void)await([] { return false; }, due - jiffies);
		return state() == ClientPathState::Connecting ? Status() : Status(failure());
	}
	// Jiffies that the running attempt waits for the server's answer to a connection request.
	unsigned long answer_timeout() const { return answer_timeout_; }
	// The running attempt ends because nobody answered.
	void heard_nothing() { unanswered_ = true; }
	// It asks for an address, or no more.
	void set_resolving(bool on) { WRITE_ONCE(resolving_, on); }
	const rtrs_addr_pair &addresses() const { return pair_; }
	ConnectRequestFields connect_request(u16 cid) const;
	// Of the running or last attempt.
	u32 epoch() const { return epoch_; }
	// False if the path is not wanted any more. Only Session::path_up() calls it.
	bool become_connected() { return go(State::Connected); }
	// REQ of cid 0 as it is sent.
	void note_request(const ConnectRequest &request)
	{
		if (exchange_)
			exchange_->request = request;
	}
	Status use_device(rdma_cm_id *id);
	const PathDevice &device() const { return device_; }
	const DeviceLimits &device_limits() const { return limits_; }
	// Of this attempt: a longer one does not fit the device.
	void shorten_send_queues(u32 wrs);
	// Known when cid 0 is connected.
	// Of the session, all paths together.
	QueueDepth queue_depth() const { return session_limits_->layout.queue_depth(); }

	// ---- requests; under RcuReader ----

	// 0: accepted. EAGAIN, ENOMEM, EMSGSIZE, EINVAL: not. The path is connected.
	Status submit(const rtrs_clt_request &request);
	// The same in line: submit.cc.
	Status take(const rtrs_clt_request &request);
	// Whether it has the request of that slot and `priv`, which has not ended.
	bool has_request(Slot slot, const void *priv) const;
	// Asks the server to end the path of this serial; none is carried yet. EAGAIN, or what the
	// device says. Serialised by the session's fence lock.
	Status post_fence(u32 serial);
	// A write of nothing, for its completion, which has `place`. EAGAIN, or what the device
	// says.
	Status post_probe(ClientConnection &con, u64 &place);
	// The serial that the server was asked to end over this path and has not answered; 0: none.
	u32 carried_fence() const { return __atomic_load_n(&carried_fence_, __ATOMIC_ACQUIRE); }
	// It should have answered.
	bool fence_overdue() const;
	int poll(u32 queue, io_comp_batch *batch);
	// Posts what the connection of this hctx has collected.
	void commit(const Hctx &hctx);
	// Of a connection that holds requests: send_batch.cc, throttle.cc.
	void hold(Request &request);
	Status post_chain(ClientConnection &con, ChainEntry *entries, u32 count, ib_sge *sges,
			  Signal signal, RequestState last);
	u64 inflight_of(int cpu) const { return stats_->inflight_of(cpu); }
	u64 latency_ns() const { return heartbeat_.latency_ns(); }
	// Of the present attempt: what it has agreed on with the server, or will ask for.
	const ConnectionSplit &connections() const { return split_; }
	PathStats &stats() { return *stats_; }
	cxxrt::PerCpu<WrCounters> &wr_counters() { return wr_counters_; }

	list_head node; // in Session's list
	// From path_up() to path_down(): one of those that the user has. Under the session's
	// links_lock_.
	bool counted = false;

private:
	using State = ClientPathState;

	// Steps of the owner: path.cc.
	void run();
	void run_attempt();
	bool step();
	bool step_after_failed_attempt();
	bool step_reconnecting();
	bool ask_again();
	bool hold_back(bool asked);
	void attempt();
	bool go(State to);
	void set_state(State to);
	void attempt_ended();
	u32 attempts_ended() const { return smp_load_acquire(&attempts_ended_); }
	void kick() { work_.requeue_after(workqueue_, 0); }
	Error failure();
	bool note_failure(Error error, PathError kind, PathReason reason = PathReason::None);
	void announce(SessionEvent::Kind kind);
	void tell_failure();
	void wait_state_change();

	// path_connect.cc
	Status connect();
	Status open_connections();
	Status open_connection(u16 cid);
	Status open_connections(u32 first, u32 end);
	void await_end_of_stale(u16 cid);
	void set_split(const ConnectionSplit &split);
	Status agree_on_connections(const ConnectReplyFields &reply);
	Status agree_on_limits();
	Status exchange_info();
	Status read_info_response();
	Status start_receives();
	void remember_addresses();
	void on_info_sent(const ib_wc &wc);
	void on_info_received(const ib_wc &wc);

	// proof.cc
	Status begin_proof();
	Status agree_on_proof(const ConnectReplyFields &reply);
	Transcript transcript(ByteView info_request) const;
	ByteView proven_request() const;
	Status add_proof();
	Result<ByteView> check_server_proof(ByteView message);

	// path_teardown.cc
	void tear_down();
	void end_requests();
	bool close_request(Request &request);
	void move_requests(Request **first, u32 count);
	int fail_over(Request &request);

	// response.hh and response.cc
	enum class AnswerResult : u8 {
		Ended,
		Open,
		Unsent,
		// What is rare, and told to see_to_answer().
		PassedEnded, // as Ended, and its throttle is to hear of it
		PassedOpen,  // as Open, likewise
		Held,
		Stray,
	};
	void on_other_immediate(ClientConnection &con, Immediate imm);
	void on_stray_response(ClientConnection &con, Slot slot);
	AnswerResult see_to_answer(ClientConnection &con, Request &r, const ClientImm &m,
				   const Rkey *key, AnswerResult taken);
	void on_fence_done(u32 serial);
	void on_response(ClientConnection &con, const ClientImm &imm, const Rkey *key);
	AnswerResult take_answer(ClientConnection &con, Request &r, const ClientImm &m,
				 const Rkey *key);
	AnswerResult take_awaited_answer(ClientConnection &con, Request &r, const ClientImm &m,
					 const Rkey *key);
	AnswerResult take_other_answer(ClientConnection &con, Request &r, const ClientImm &m,
				       const Rkey *key);
	void on_heartbeat_sent(const ib_wc &wc);
	static void on_heartbeat_lost(void *path);

	// deadline.cc
	void start_deadline();
	void check_deadline();
	bool look_for_life(u64 now);
	bool wake_stalled();

	// submit.cc
	ClientConnection &connection_for(const Hctx &hctx);

	// throttle.cc
	Status take_slow_path(ClientConnection &con, Request &r, bool more);
	Status post_slow_path(Request &r, Signal signal, RequestState posted_as);

	// post.hh
	Immediate request_imm(const Request &r) const;
	void write_message(Request &r) const;
	// `sges`: room for what travels, see RequestWrs. They and `wrs` are read by the post.
	[[gnu::always_inline]] void fill(RequestWrs &wrs, const Request &r, ib_sge *sges,
					 bool guarded_before) const;
	Status post(Request &r, Signal signal, RequestState posted_as = RequestState::Posted);

	// path_sysfs.cc
	Status create_files();
	void show_state(cxxrt::SysfsText &out);
	void show_hca_name(cxxrt::SysfsText &out);
	void show_hca_port(cxxrt::SysfsText &out);
	void show_src_addr(cxxrt::SysfsText &out);
	void show_dst_addr(cxxrt::SysfsText &out);
	void show_connections(cxxrt::SysfsText &out);
	void show_latency(cxxrt::SysfsText &out);
	void show_heartbeats_missed(cxxrt::SysfsText &out);
	void show_last_error(cxxrt::SysfsText &out);
	void show_last_reason(cxxrt::SysfsText &out);
	void show_attempts(cxxrt::SysfsText &out);
	void show_next_attempt(cxxrt::SysfsText &out);
	void show_proven(cxxrt::SysfsText &out);
	void show_reconnect(cxxrt::SysfsText &out);
	void show_disconnect(cxxrt::SysfsText &out);
	void show_remove(cxxrt::SysfsText &out);
	void show_wr_counters(cxxrt::DebugText &out);
	Status store_reconnect(TextView text, cxxrt::SysfsCall &);
	Status store_disconnect(TextView text, cxxrt::SysfsCall &);
	Status store_remove(TextView text, cxxrt::SysfsCall &call);
	static const cxxrt::SysfsFile<Path> kFiles[];

	Session &session_;
	const u32 index_;
	const cxxrt::Workqueue &workqueue_;
	const cxxrt::Workqueue &attempts_queue_;
	const cxxrt::Workqueue &ticks_queue_;
	Uuid uuid_{};
	cxxrt::TextBuffer<kSessionNameSize + RTRS_PAIR_TEXT> log_name_;

	// What each request needs comes here, on two lines.
	alignas(cxxrt::kCacheLine) cxxrt::Box<PathStats> stats_; // as long as the path
	cxxrt::PerCpu<WrCounters> wr_counters_;			 // likewise
	// Made by the owner before Connected, taken away after a grace period: readable by
	// handlers, and by submitters under RcuReader.
	PathDevice device_;
	DeviceLimits limits_{};
	const SessionLimits *session_limits_ = nullptr;
	cxxrt::Array<cxxrt::Box<ClientConnection>> connections_;
	cxxrt::Box<RequestTable> requests_;
	struct RemoteChunk {
		RemoteAddress address;
		Rkey rkey; // changes with each response if the server announced new keys
	};
	cxxrt::Array<RemoteChunk> remote_; // by slot
	bool new_keys_ = false;

	// The state and the wishes to its owner; written under state_lock_.
	cxxrt::SpinLock state_lock_{cxxrt::lock_class<"rtrs_path_state">()};
	ClientPathState state_ = ClientPathState::Connecting;
	int error_ = 0; // why the running attempt failed; the first error counts
	// Of any attempt or connection; stays.
	struct LastFailure {
		int error = 0;
		PathReason reason = PathReason::None;
	} last_failure_;
	u32 attempts_ = 0;	 // automatic ones since the path was connected
	u32 attempts_ended_ = 0; // of all kinds, for those who wait for one
	bool now_ = false;	 // reconnect without a long pause
	bool hurry_ = false;	 // likewise: what was in the way may be there no more
	enum class Asked : u8 {
		No,
		Again, // the server has refused the path because of its quarantine: ask_again()
		Once,
	};
	Asked asked_ = Asked::No; // somebody waits for the next attempt
	bool ending_ = false;	  // no way back from Closed
	bool settled_ = false;	  // not under the lock: settle()
	bool starved_ = false;	  // it was lost by what is large
	cxxrt::WaitQueue changed_{cxxrt::lock_class<"rtrs_path_changed">()};

	// Only the owner, until the next mark.
	rtrs_addr_pair pair_; // src is filled in when the path connects first
	bool first_connection_ = false;
	u16 attempt_number_ = 0; // what REQ carries
	bool was_up_ = false;	 // it connected at least once
	bool reported_up_ = false;
	bool pausing_ = false; // in Reconnecting: torn down, until due_; both are read by sysfs
	bool lent_ = false;    // the item of the attempt is the owner
	Asked attempt_asked_ = Asked::No; // the running one
	u32 epoch_ = 0;
	bool refused_ = false;	  // the server is not the session's any more: no automatic attempt
	bool unanswered_ = false; // the last attempt
	bool resolving_ = false;  // it asks for an address
	ReconnectBackoff backoff_;
	Quarantine quarantine_;
	bool held_ = false; // by it
	AnswerTimeout next_timeout_;
	unsigned long answer_timeout_ = kStepTimeout;
	unsigned long connected_at_ = 0; // jiffies; 0: not since the last pause
	unsigned long due_ = 0;		 // jiffies
	DmaBuffer info_request_;
	DmaBuffer info_response_;
	u32 info_size_ = 0; // bytes received
	bool info_received_ = false;
	cxxrt::Box<Exchange> exchange_; // of the attempt; null if nobody has to prove anything
	bool downgraded_ = false;	// and had to, but for the policy; of the last attempt
	KeyGeneration known_generation_{0};
	// The proof is on its way: the end of the path is the server's no. Read in any context.
	bool proof_sent_ = false;

	ConnectionSplit split_{}; // what connections_ are; written under info_lock_, for sysfs
	// Of the last attempt; stay until the next one.
	bool fences_ = false;
	bool capsules_ = false;
	u32 serial_ = 0;
	u32 instance_ = 0;
	u32 carried_fence_ = 0;
	unsigned long fence_posted_ = 0; // jiffies
	bool posting_ = false;

	CompletionEntry<Path, &Path::on_info_sent> info_sent_{this};
	CompletionEntry<Path, &Path::on_info_received> info_received_entry_{this};
	CompletionEntry<Path, &Path::on_heartbeat_sent> heartbeat_sent_{this};
	HeartbeatTimer heartbeat_;

	cxxrt::DelayedWork<Path, &Path::check_deadline> deadline_{this};

	// As long as the path.
	cxxrt::SysfsDir dir_;
	cxxrt::DebugDir debug_dir_;
	// What sysfs shows of the last device; under info_lock_.
	cxxrt::Mutex info_lock_{cxxrt::lock_class<"rtrs_path_info">()};
	cxxrt::TextBuffer<IB_DEVICE_NAME_MAX> hca_name_;
	u32 hca_port_ = 0;
	bool port_down_ = false;
	u32 proven_ = 0; // generation of the key; 0: nothing was proven
	rtrs_addr_pair shown_addresses_{};

	cxxrt::DelayedWork<Path, &Path::run> work_{this};
	cxxrt::Work<Path, &Path::run_attempt> attempt_{this};
};

} // namespace rtrs::client
