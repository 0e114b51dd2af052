// SPDX-License-Identifier: GPL-2.0
// A mapped device: its states, its disk, its attributes (protocol E.1, F.3).
//
// References: the session's list holds one from add() to the end of unmap; the disk holds one
// until its last opener has gone; work items and attribute methods hold one while they run.
//
// State changes happen under the session's link lock. Whoever moves the state to Unmapped, alone
// takes the device down (finish_unmap()). The disk may be touched under the link lock while
// `published_` and not Unmapped, else only by that one.
#pragma once

#include <cxxrt/disk_limits.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/print.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>
#include <rnbd/client/device_events.hh>
#include <rnbd/client/device_stats.hh>
#include <rnbd/client/device_sysfs.hh>
#include <rnbd/client/messages.hh>
#include <rnbd/client/slow.hh>
#include <rnbd/client/waiting.hh>
#include <rnbd/pure/device_state.hh>
#include <rnbd/pure/map_options.hh>
#include <rnbd/pure/names.hh>
#include <rnbd/pure/unflushed.hh>
#include <rnbd/wire/extension.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/open_response.hh>

namespace rnbd::client {

class Module;
class Session;
class SessionUse;
struct Link;
struct OpenedDevice;
using cxxrt::Ref;

class Device : public cxxrt::RefCounted<Device> {
public:
	// Listed with its session, in state Init. EEXIST if the path is mapped already, ENOSPC,
	// ENOMEM. May sleep.
	static Result<Ref<Device>> create(SessionUse use, const DeviceName &name, AccessMode mode,
					  TextView owner);
	Device(Module &module, Ref<Session> session, const DeviceName &name, AccessMode mode,
	       u32 index);
	~Device();
	void destroy();

	// Opens the device at the server and makes the disk of it, whose requests wait for a path
	// as long as no_path_timeout says. Once, by the creator; takes the device down again if it
	// fails. EINTR, what the server answered, or what the kernel
	// refused. Sleeps long.
	Status map(int no_path_timeout);
	// EBUSY for Normal with openers, EALREADY, EINTR. `call` is the write into unmap_device
	// that asks for it. The caller holds a reference. Sleeps long.
	Status unmap(UnmapMode mode, cxxrt::SysfsCall &call);
	// The module goes: as a forced unmap, but without a word to the server, and from a work
	// item. Link lock held.
	void start_unmap_at_unload();

	// Any context.
	DeviceState state() const
	{
		DeviceState s;
		__atomic_load(&state_, &s, __ATOMIC_ACQUIRE);
		return s;
	}
	// At the server; valid when state() said Mapped.
	DeviceId id() const { return {READ_ONCE(id_)}; }
	Session &session() const { return *session_; }
	AccessMode access_mode() const { return mode_; }
	// The mapping, or the device behind it.
	bool read_only() const { return !may_write(mode_) || READ_ONCE(server_read_only_); }
	// Which OPEN of the session id() is from.
	u32 open_number() const { return READ_ONCE(open_number_); }
	TextView path() const { return name_.view(); }
	// What user space calls the mapping; may be empty.
	const char *owner() const { return owner_.c_str(); }
	// "<path>@<session>", for the log.
	const char *label() const { return label_.c_str(); }
	u32 index() const { return index_; }
	WaitingRequests &waiting() { return waiting_; }
	DeviceStats &stats() { return *stats_; }
	UnflushedWrites &unflushed() { return unflushed_; }
	// The block layer may have taken FUA from a write, when there was no cache yet. Any
	// context.
	bool makes_durable() const { return READ_ONCE(makes_durable_); }
	// There is a cache that the disk could not be told of yet, so that flushes do not get here.
	// Any context.
	bool hides_cache() const { return READ_ONCE(hides_cache_); }
	// The first opener comes. Under the block layer's lock of opens, with no other opener.
	void first_opens();
	DeviceEvents &events() { return events_; }
	SlowDisk &slow() { return slow_; }
	// Of a published device, until finish_unmap() puts it.
	gendisk *disk() const { return disk_; }

	// Link lock held.
	void lose_link();
	// What the server says of the devices with ids from `first` on, up to the next to ask for,
	// as of a time when it had opened `opens` of them.
	struct StatesScope {
		u32 first;
		u32 opens;
		bool cache; // feature::device_cache
	};
	// True if they say something of this device, and it is as they say now.
	bool take_state(const DeviceStatesView &states, const StatesScope &scope);
	// The link is back, to a server of this instance: whether the device is to be opened again.
	bool comes_back(u64 instance);
	const Wwid &wwid() const { return wwid_; }
	// The server does not know the id that it gave in that OPEN. Any context.
	void note_unknown_id(u32 open_number);
	// Queues an OPEN, which ends in state Mapped or leaves the state alone. Its number is for
	// await_open(). Any context.
	u32 start_open();
	// The result of that or a later OPEN. ENODEV when the device is unmapped meanwhile, EINTR.
	Status await_open(u32 number);

	// An operation on the reservations of the disk, whose serial is given here: the answer,
	// which ReserveView takes. EOPNOTSUPP if the server has none, EBADE for a conflict, EIO
	// when there is no path for as long as requests wait for one, ENODEV when it is unmapped,
	// EINTR, or what the server answers. Sleeps, as long as the server's disk and its victims
	// do.
	Result<Ref<Message>> reserve(ReserveRequest r);

	// For the attributes. ENOENT unless Mapped, EINVAL for a size the disk can't have.
	Status resize(Sectors capacity);
	// EBUSY, EALREADY, ENODEV, or the result of an OPEN. Sleeps.
	Status remap();

	cxxrt::ListNode session_node;
	cxxrt::ListNode opening_node;

private:
	struct Opens {
		u32 wanted = 0;
		u32 ended = 0;
		int code = 0;
	};

	// device.cc
	void set_state(DeviceState to);
	Status claim_unmap(bool say_close);
	Status claim_unmap_unless_open();
	void finish_unmap();
	// device_follow.cc
	void change_capacity();
	void follow_capacity(Sectors now);
	bool follow_cache(const DeviceCondition &now);
	bool follow_limits();
	bool plain_have_ended();
	void retry_limits();
	void close_by_server();
	void check_unknown_id();
	// device_open.cc
	void run_open();
	Status open_or_settle();
	void settle();
	bool ask_later();
	void ask_again();
	void close(const OpenedDevice &opened);
	void try_again_later();
	void open_again() { start_open(); }
	Status open_once();
	Result<OpenedDevice> open_ours();
	Status check_access_is_known(u32 epoch) const;
	bool is_another(const OpenedDevice &opened) const;
	Result<OpenedDevice> open_by_identity(u32 epoch, cxxrt::Error by_name);
	Status take_opened(Link &link, const OpenedDevice &opened);
	Status check_unchanged(const OpenedDevice &now) const;
	void check_losses(const OpenedDevice &now);
	// reserve.cc
	Result<Ref<Message>> reserve_alone(const ReserveRequest &r);
	Result<Ref<Message>> reserve_once(const ReserveRequest &r);
	Status await_path_to_reserve(u64 missed);
	Status pause_to_reserve();
	// device_publish.cc
	Status publish(int no_path_timeout);
	Status add_to_system();
	Status create_link();
	void remove_link();

	Module &module_;
	const Ref<Session> session_;
	cxxrt::Box<SessionUse> use_; // until the end of unmap

	// What each request needs; with what is before, on two lines.
	const AccessMode mode_;
	// Changed under the link lock, but for unflushed_.
	DeviceState state_ = DeviceState::Init;
	bool server_read_only_ = false;
	bool makes_durable_ = false;
	bool hides_cache_ = false;
	UnflushedWrites unflushed_;
	u32 id_ = 0;
	u32 epoch_ = 0; // in which id_ is valid
	u32 open_number_ = 0;
	Sectors server_capacity_{};
	// Requests that began before may have been sent without FUA, which makes_durable_ adds.
	enum : u64 { kPlainUnknown = ~u64{0} };
	u64 plain_until_ = 0;
	cxxrt::Box<DeviceStats> stats_;

	const u32 index_; // of the disk, as in rnbd<N>
	const DeviceName name_;
	cxxrt::TextBuffer<kLinkNameSize> label_;
	cxxrt::TextBuffer<kMaxOwner + 1> owner_; // constant once the device is listed

	// Changed under the link lock, too.
	DeviceProperties properties_{};
	DeviceTopology topology_{};
	cxxrt::DiskLimits disk_limits_{}; // that the disk has
	Wwid wwid_;			  // constant once it is not empty
	OpenNumber number_{};		  // of the OPEN that id_ is from
	// What the server said last of writes that it may have lost.
	u64 instance_ = 0; // 0: unknown
	u32 losses_ = 0;
	bool identified_ = false;	// losses_ is known
	bool configured_ = false;	// the server has it under this name by configuration
	bool closed_by_server_ = false; // cause of state MappedDisconnected
	bool published_ = false;	// others may touch disk_
	bool say_close_ = false;	// unmap sends CLOSE; set by who claims it

	cxxrt::Guarded<Opens, cxxrt::SpinLock> opens_;
	cxxrt::WaitQueue changed_; // an OPEN ended, or reserve(), or unmapped
	bool reserving_ = false;   // somebody is in reserve()
	cxxrt::RefWork<Device, &Device::run_open> open_work_;
	int open_error_ = 0; // that the log has; of open_work_, as is
	MessageReserve reserve_;
	// An OPEN whose end is not known; of open_work_.
	AskedOpen asked_;
	bool asked_by_wwid_ = false;
	int by_name_ = 0; // then: what the OPEN by name met
	unsigned int ask_pause_ms_ = 0;
	// Queued under the link lock while not Unmapped.
	cxxrt::DelayedWork<Device, &Device::ask_again> ask_;
	// Queued under the link lock, in state MappedDisconnected only.
	cxxrt::DelayedWork<Device, &Device::open_again> retry_;
	// Queued under the link lock while published_ and not Unmapped.
	cxxrt::DelayedWork<Device, &Device::retry_limits> limits_retry_;
	cxxrt::RefWork<Device, &Device::finish_unmap> unmap_work_;
	WaitingRequests waiting_;
	DeviceEvents events_;
	SlowDisk slow_;
	u32 unknown_open_ = 0;
	cxxrt::RefWork<Device, &Device::check_unknown_id> unknown_id_;

	// Held by map() while it makes the parts below, which finish_unmap() removes.
	cxxrt::Mutex building_;
	gendisk *disk_ = nullptr;
	DeviceDirectory directory_;
	bool linked_ = false;
};

} // namespace rnbd::client
