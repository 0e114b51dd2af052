// SPDX-License-Identifier: GPL-2.0
// A client's session: chunks, slots, and the paths that lead to them.
//
// One life: it comes up once and goes down once. When the last path that is open begins to close,
// the session has ended: no path is added, and a client that comes back under the same id gets a
// new object, with slots that no disk keeps. What has begun ends in this one.
//
// References: each path and each running connection request hold one; the server's list holds none,
// so a session dies with its last path. The last reference is dropped in process context; it takes
// the session off the server's list and frees the chunks.
//
// Locks, outer first: Session::user_lock_, provide_lock_, or the handler lock of a CM id;
// Session::lock_; Server's lock; Admission's lock. user_lock_ is held while the user is called, who
// takes his time: nothing of the connection manager, and nobody who only looks for a session or a
// path, takes it.
#pragma once

#include <cxxrt/class_device.hh>
#include <cxxrt/debugfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <cxxrt/ref.hh>
#include <rtrs/pure/open_paths.hh>
#include <rtrs/pure/quarantine.hh>
#include <rtrs/server/chunk_pool.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/slot.hh>

// The opaque handle of rtrs.h is the base of the object behind it.
struct rtrs_srv_sess {};

namespace rtrs::server {

class Server;

// What a connection request met: a session whose life is over; see Session.
constexpr Error kSessionEnded = Error::from_errno(ESTALE);

// Hosts of paths that are gone, which a session remembers.
constexpr u32 kLeftHosts = 4;

class Session : public cxxrt::RefCounted<Session>, public rtrs_srv_sess {
public:
	// Without chunks and slots; these come by provide(), on `node`. `source` is the host whose
	// connection request makes it. `key`: the name of the one that was proven, or null;
	// `instance` is by chance. ENOMEM. May sleep.
	static Result<cxxrt::Ref<Session>> create(Server &server, const Uuid &id, u32 instance,
						  const KeyName *key, const Source &source,
						  int node);
	// Chunks and slots, for the first path that gets so far. EUSERS or ENOMEM over a quota,
	// ENOMEM. May sleep, for as long as it takes to zero the chunks, and waits for another path
	// that has begun to.
	Status provide(bool stranger);
	// How much that is.
	static u64 memory(const Server &server);
	~Session();
	void destroy();

	// A connection request for this session (handshake.cc). An error leaves the id with the
	// caller; see Path::connect(). kSessionEnded: the first connection of a path belongs to the
	// next one. `place` is for a new path, which takes it. May sleep.
	Status connect(rdma_cm_id *id, const rdma_conn_param &request,
		       const ConnectRequestFields &fields, cxxrt::Box<Admitted> &place);
	// A path that has proven the session's key: it enters its epoch, takes the place of an
	// older attempt, and is one of its paths from here on. An error is the end of the attempt.
	// May sleep.
	Status admit(Path &path);
	// Closes all paths, without waiting.
	void close_paths();
	// Whether a client at `host` still lives behind this session: ask_for_life() sends it a
	// heartbeat on each path, which it answers before silent() is asked.
	void ask_for_life();
	bool silent();
	// Of a host whose path is gone, too: that is what the end of a client begins with.
	bool comes_from(const sockaddr_storage &host);

	// ---- a path's life, called by its works ----

	// It loses large packets: while another path is there, it is not taken again for a time.
	void quarantine(const Path &path);
	// kStarvedPath: the path of that request has to stay away.
	Status may_return(const ConnectRequestFields &fields)
	{
		LockGuard held(lock_);
		return leave_quarantine(fields);
	}
	// The path becomes visible below the claimed name, and the user is told of it, and of the
	// session if it is the first. ECONNABORTED if the session has ended. What was done before
	// an error is undone by the path's close work. May sleep.
	Status bring_up(Path &path, TextView name);
	// No request of the path is handed over any more: the user is told, and that the session is
	// down if it has ended and no other path is up. May sleep.
	void take_down(Path &path);
	// Removes the path's sysfs directory, and the session's with the last one. When that has
	// gone of a session that has ended, its name is free.
	void hide(Path &path);
	// The path is quiet, or nothing of it is left but requests that the user has: others may
	// wait for that.
	void progressed(Path &path);
	// The slots have forgotten the path: its tag is free.
	void release_tag(Path &path);
	// Nothing of the path is left; drops the list's reference.
	void remove(Path &path);
	// Makes the path of this serial close, unless it is `self`; whether that is quiet, or has
	// gone long ago.
	bool end_by_serial(u32 serial, const Path &self);
	// Whether the path has to wait with its INFO_RSP for another one that is closing.
	bool must_wait(const Path &self);
	// Waits until no connection request puts the path on its list, and no other path that has
	// progressed wakes it; later ones see that it is closing.
	void await_connection_requests() { LockGuard held(lock_); }

	Server &server() { return server_; }
	const Uuid &id() const { return id_; }
	// Tells this session from one that had the same id before (protocol J.1).
	u32 instance() const { return instance_; }
	const Source &source() const { return source_; }
	// The name of the key by which it was founded (protocol J.3); null: by none.
	const KeyName *key() const { return key_.get(); }
	// Whether a session of that key, or of none, may end this one when it seems dead.
	bool yields_to(const KeyName *key) const { return !key_ || (key && *key == *key_); }
	// Empty before the first path is up; never changes afterwards.
	const char *name() const { return name_.c_str(); }
	const ChunkPool &chunks() const { return chunks_; }
	RequestSlot &slot(Slot s) { return slots_[s.value]; }
	RequestSlot *begin() const { return slots_.begin(); }
	RequestSlot *end() const { return slots_.end(); }
	// Valid while a path is up.
	void *user() const { return user_; }

	// All paths are closing: the session ends, and no path is added any more. Any context.
	bool ended() const { return open_paths_.ended(); }
	OpenPaths &open_paths() { return open_paths_; }

	cxxrt::ListNode server_node;			  // under the server's lock
	bool pins = false;				  // likewise: it has chunks, or is about to
	bool closing = false;				  // likewise: the server closes
	cxxrt::TextBuffer<kSessionNameSize> claimed_name; // likewise: "" or the name; free again
							  // when nothing is seen of the session

private:
	template <class L> using LockGuard = cxxrt::LockGuard<L>;

	Session(Server &server, const Uuid &id, u32 instance, const Source &source, int node);
	Status allocate();

	Result<Path *> find_or_create_path(const rdma_cm_id &id, const ConnectRequestFields &fields,
					   cxxrt::Box<Admitted> &place);
	// What a new path gets.
	struct Place {
		PathTag tag;
		Path *predecessor = nullptr;
	};
	Result<Place> find_place(const PathEnds &ends);
	void enlist(Path &path, const Place &place);
	Path *find_path(const Uuid &id);
	Status enter_epoch(const ConnectRequestFields &fields);
	Status leave_quarantine(const ConnectRequestFields &fields);
	Status show(Path &path);
	void user_gone();
	bool has_left(const sockaddr_storage &host) const; // under lock_

	Server &server_;
	const Uuid id_;
	const u32 instance_;
	const Source source_;
	const int node_;
	cxxrt::Box<KeyName> key_; // set once, by create()
	cxxrt::Mutex provide_lock_{cxxrt::lock_class<"rtrs_session_memory">()};
	bool provided_ = false; // under it; then the following never change
	Admitted held_;		// for them
	ChunkPool chunks_;
	cxxrt::Array<RequestSlot> slots_;
	cxxrt::Array<u8> areas_;
	OpenPaths open_paths_;

	cxxrt::Mutex user_lock_{cxxrt::lock_class<"rtrs_session_user">()};
	// Under user_lock_.
	u32 up_paths_ = 0;
	bool user_up_ = false;
	void *user_ = nullptr;

	cxxrt::Mutex lock_{cxxrt::lock_class<"rtrs_session">()};
	// All below under lock_.
	cxxrt::List<Path, &Path::session_node> paths_;
	static_assert(kMaxPathTags <= RTRS_SRV_MAX_PATHS);
	unsigned long tags_[BITS_TO_LONGS(kMaxPathTags)] = {};
	Quarantines quarantines_;
	u32 epoch_ = 0;	      // the latest that a client which knows fences has named
	u32 last_serial_ = 0; // of paths; begins anywhere
	u32 shown_paths_ = 0;
	bool user_has_ = false; // from before session_up() to after session_down()
	// Where the latest paths that are gone came from, the next one over the oldest.
	sockaddr_storage left_[kLeftHosts] = {};
	u32 next_left_ = 0;
	cxxrt::TextBuffer<kSessionNameSize> name_;
	cxxrt::ClassDevice device_;
	cxxrt::SysfsDir paths_dir_;
	cxxrt::DebugDir debug_dir_;
};

} // namespace rtrs::server
