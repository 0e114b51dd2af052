// SPDX-License-Identifier: GPL-2.0
// A session: one transport session, the tags and the devices on it (protocol E.1).
//
// Two counts govern it. References (RefCounted) keep the memory. Uses (see sessions.hh) keep it
// connected: when the last device gives up its use, the transport is closed, although devices that
// somebody still has open hold the memory longer.
//
// Lock order: the session table's lock, then a session's link lock. The link lock is never held
// across a wait for a peer.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/inflight.hh>
#include <cxxrt/list.hh>
#include <cxxrt/noio.hh>
#include <cxxrt/print.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/messages.hh>
#include <rnbd/client/queues.hh>
#include <rnbd/client/watch.hh>
#include <rnbd/wire/extension.hh>
#include <rnbd/wire/messages.hh>
#include <rtrs/rtrs.h>

namespace rnbd::client {

class Module;

// What the link lock guards.
struct Link {
	cxxrt::List<Device, &Device::session_node> devices; // each holds a reference
	// Counts losses of the link. The server forgets a session with its last path, so device ids
	// are valid in one epoch only, and in the next one may name another device.
	u32 epoch = 0;
	// No loss was told since the last end of one.
	bool up = true;
	// Counts successful OPENs.
	u32 opens = 0;
	// Of the last OPEN that was sent with a number (protocol D.5).
	u64 open_number = 0;
	// What the SESS_INFO of this epoch agreed on; nothing before its answer.
	Extension extension;
};

// Where to connect to.
struct Destination {
	const rtrs_addr_pair *paths = nullptr;
	u32 path_count = 0;
	u16 port = 0;
	// Of protocol J.3; both may be empty.
	TextView auth = {};
	TextView key = {};
	// Of a new session; of an open one they must be so already.
	rtrs_clt_settings settings = {};
	// An open session will do, whatever its queues are.
	bool any_queues = false;
};

class Session : public cxxrt::RefCounted<Session> {
public:
	enum class Phase : u8 { Connecting, Ready, Closing, Gone };

	// Not connected yet. ENOMEM. May sleep.
	static Result<Ref<Session>> create(Module &module, TextView name, u32 poll_queues);
	Session(Module &module, TextView name, u32 poll_queues, cxxrt::Workqueue workqueue);
	~Session();
	void destroy();
	// For work that may wait for this session's peer, and brings disks back: memory may wait
	// for it. Of the session alone, so none waits behind another one's peer.
	const cxxrt::Workqueue &workqueue() const { return workqueue_; }

	const char *name() const { return name_.c_str(); }
	TextView name_view() const { return name_.view(); }
	Module &module() const { return module_; }
	u32 wanted_poll_queues() const { return poll_queues_; }
	// What it proves, and wants of its server (protocol J.3). While it is ready.
	TextView auth() const { return TextView::of(attributes_.auth); }
	TextView key() const { return TextView::of(attributes_.key); }

	// Connects and introduces itself. Once, by the one who created it. What connecting met,
	// EINVAL for a transport that is too small, EINTR. Sleeps long.
	Status open(const Destination &destination);
	// Ends every message, and the transport with all its requests. Once, whether open()
	// succeeded or not; no device has a queue any more. Sleeps.
	void close();

	// From a successful open() to close():
	rtrs_clt *transport() const { return transport_; }
	const rtrs_clt_attrs &attributes() const { return attributes_; }
	TagSet &tags() { return tags_; }
	// What SESS_INFO agreed on. Any context.
	u8 version() const { return __atomic_load_n(&version_, __ATOMIC_RELAXED); }

	// ECONNRESET if the epoch is over.
	Result<Extension> extension(u32 epoch);

	// Lists a device and takes a reference of it. EEXIST if the path is mapped already.
	Status add(Device &device);
	void remove(Device &device);
	// One device of each path at a time is between the two. Waits; in a work item.
	void begin_open(Device &device);
	void end_open(Device &device);
	bool has_device(TextView path);
	// f(Link &) under the link lock. Whoever brings disks back needs the lock, so its holders
	// wait for no I/O.
	template <class F> decltype(auto) with_link(F &&f)
	{
		const cxxrt::NoIoScope noio;
		return link_.with(f);
	}

	// The epoch that is now, for what may be sent after SESS_INFO only: devices under ids of an
	// earlier epoch may be others, and nothing is known of the server. ECONNABORTED before.
	Result<u32> introduced_epoch()
	{
		return with_link([this](Link &link) -> Result<u32> {
			if (!introduced_)
				return err::econnaborted;
			return link.epoch;
		});
	}
	// For a while, until there is such an epoch: a server that has just started has its clients
	// back in seconds. Whoever goes on without learns why there is none. Sleeps, killable.
	void await_introduction();

	// The module is stopping: who waits there looks again. Any context.
	void stop_awaiting() { introductions_.wake_all(); }
	// A time of the link, to ask later whether it has been lost since, or was then.
	struct Since {
		u32 epoch;
		bool up;
	};
	Since now()
	{
		return with_link([](Link &link) { return Since{link.epoch, link.up}; });
	}
	bool lost(const Since &since)
	{
		return with_link([&](Link &l) { return !since.up || l.epoch != since.epoch; });
	}
	// f() sends messages. Does it again if they ended with their path while the link did not:
	// one path went, another came, and no event will bring anybody to do so. Not for ever,
	// since a loss may take its time to be told. Sleeps.
	template <class F> auto resend_while_up(F &&f)
	{
		constexpr u32 kResends = 20;
		for (u32 i = 0;; i++) {
			const Since since = now();
			auto result = f();
			if (result.ok() || result.error() != err::econnaborted || i == kResends ||
			    lost(since) || !pause_to_resend())
				return result;
		}
	}

	// For a pause between two tries to say the same; false if the session closes. Sleeps.
	bool pause_to_resend();
	// Above all that this session has used. Sleeps for the link lock.
	OpenNumber new_open_number()
	{
		return with_link([](Link &link) { return OpenNumber{++link.open_number}; });
	}

	// For Message. `epoch` limits the sending to one epoch: ECONNRESET after it. EINTR,
	// ECONNABORTED when closing, or what submitting met. Sleeps for a permit, killable.
	Status send(Message &message, const rtrs_clt_request &request, const u32 *epoch);
	// Any context; `message` has returned its permit when it returns.
	void sent(Message &message);
	// The answer is taken for lost: ends the path that has the message. Any context.
	void give_up(Message &message);

	// Guarded by the session table.
	cxxrt::ListNode table_node;
	u32 uses = 1;

	// Written under the table's lock, read anywhere.
	Phase phase() const { return READ_ONCE(phase_); }
	void set_phase(Phase p) { WRITE_ONCE(phase_, p); }
	// It was opened to ask the server, and no device has been mapped there. Likewise.
	bool is_passing() const { return READ_ONCE(passing_); }
	void set_passing(bool passing) { WRITE_ONCE(passing_, passing); }
	// Why it is Gone without having been Ready.
	Status open_status() const { return Status::from_code(open_code_); }
	void set_open_status(const Status &s) { open_code_ = s.code(); }

private:
	void free();
	static void on_link_event(void *priv, rtrs_clt_event event);
	static bool is_wanted(void *priv);
	Status connect(const Destination &destination);
	Status take_permit(u32 &slot, MessageKind kind);
	bool try_take_permit(u32 &slot, MessageKind kind);
	void put_permit(u32 slot, MessageKind kind);
	Status introduce();
	void lose_link();
	void resume();

	Module &module_;
	cxxrt::TextBuffer<256> name_;
	// One for each CPU that was there when the session began; others share them later.
	const u32 queues_;
	const u32 poll_queues_;
	rtrs_clt *transport_ = nullptr;
	rtrs_clt_attrs attributes_{};
	TagSet tags_;
	u8 version_ = 0;
	bool passing_ = false;
	Phase phase_ = Phase::Connecting;
	int open_code_ = 0;
	bool closing_ = false;
	bool introduced_ = false; // in this epoch; written under the link lock

	// Those between taking a permit and handing it to the transport.
	cxxrt::Box<cxxrt::Inflight> senders_;
	// Messages whose done() has not returned.
	cxxrt::Box<cxxrt::Inflight> messages_;
	cxxrt::WaitQueue permits_;
	// Permits that messages of each kind have. Both change under one lock, so that a task that
	// finds none is woken by the next one that comes back.
	struct Rooms {
		u32 taken[3] = {};
	};
	cxxrt::Guarded<Rooms, cxxrt::SpinLock> rooms_;
	cxxrt::WaitQueue introductions_;

	cxxrt::Guarded<Link, cxxrt::Mutex> link_;
	cxxrt::Completion open_ended_;
	// Devices that say OPEN or CLOSE for one, by which a second one of the same path waits.
	using Opening = cxxrt::List<Device, &Device::opening_node>;
	cxxrt::Guarded<Opening, cxxrt::SpinLock> opening_;
	cxxrt::RefWork<Session, &Session::resume> resume_;
	cxxrt::Work<Session, &Session::free> free_work_{this};
	MessageReserve reserve_; // of who introduces the session: open(), then resume()
	DeviceWatch watch_;
	// Destroyed first: its work uses the rest.
	cxxrt::Workqueue workqueue_;
};

} // namespace rnbd::client
