// SPDX-License-Identifier: GPL-2.0
// One device that one session has open.
//
// Life: create() → Exports::attach() → an id is set aside, add_files() → in the session's table of
// ids, where I/O finds it → whoever takes it out of the table (CLOSE, force_close, the end of the
// session; the table gives it to one of them), or its maker if it never got there, calls end(). The
// rest happens in the background, after its last I/O. References keep the memory; the table, and
// whoever is about to call end(), hold one.
#pragma once

#include <cxxrt/list.hh>
#include <cxxrt/print.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/sysfs.hh>
#include <cxxrt/work.hh>
#include <rnbd/pure/access.hh>
#include <rnbd/pure/write_cache_notice.hh>
#include <rnbd/pure/lost_flushes.hh>
#include <rnbd/pure/reservations.hh>
#include <rnbd/server/block_device.hh>
#include <rnbd/server/disk_queue.hh>
#include <rnbd/server/request_counts.hh>
#include <rnbd/wire/extension.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/operations.hh>

namespace rnbd::server {

class Export;
class ExportUse;
class Exports;
class Session;
class SharedDisk;
class SharedDisks;

class Mapping : public cxxrt::RefCounted<Mapping> {
public:
	// What it tells, besides what it is.
	struct Told {
		DeviceProperties properties;
		Wwid wwid;
	};
	// ENOMEM. May sleep.
	// `use` is of the configured export that it is opened by, or empty.
	static Result<cxxrt::Ref<Mapping>> create(Session &session, BlockDevice device,
						  const OpenRequest &request, const Told &told,
						  cxxrt::Box<ExportUse> use);
	~Mapping();

	// ---- for I/O, which has entered the queue; any context
	DiskQueue &queue() { return *queue_; }
	RequestCounts &counts() { return counts_; }
	// For an operation that changes_device(), or not.
	DeviceLimits limits(bool changes) const
	{
		return {
		    .capacity = device_.capacity(),
		    .logical_block_size = device_.logical_block_size(),
		    .read_only = changes && (!may_write(access_mode_) || device_.read_only()),
		    .max_io_bytes = max_io_bytes_,
		    .max_discard_sectors = told_.properties.max_discard_sectors,
		    .max_secure_erase_sectors = told_.properties.max_secure_erase_sectors,
		    .max_write_zeroes_sectors = told_.properties.max_write_zeroes_sectors,
		};
	}
	block_device *device() const { return device_.get(); }
	bool never_sleeps() const { return device_.never_sleeps(); }
	bool has_cache() const { return device_.has_cache(); }
	// The device has a cache that the client knows nothing of.
	bool hides_cache() const { return cache_.unaware() && device_.has_cache(); }
	// By the reservations of its disk, which may change at any time: DiskQueue::fence() finds
	// who has looked before.
	bool refuses(bool read) const
	{
		return READ_ONCE(refused_) & (read ? refusal::reads : refusal::writes);
	}
	// All I/O has ended that began before fence(). By the queue, in process context.
	void drained();

	// ---- for messages: under the lock of the session's table, in which it stands
	// As it is now; the answer with that serial tells it, to a client that has followed the one
	// with the other.
	DeviceCondition condition() const;
	WriteCacheNotice &cache() { return cache_; }
	DeviceTopology topology() const { return device_.topology(); }
	// As the answer to OPEN told them, the capacity of now.
	DeviceProperties properties() const
	{
		DeviceProperties p = told_.properties;
		p.device = id_;
		p.capacity = device_.capacity();
		return p;
	}
	// Of the OPEN that it belongs to; 0 for one without a number.
	OpenNumber open_number() const { return open_number_; }
	void set_open_number(OpenNumber number) { open_number_ = number; }
	Identity identity() const;

	// ---- life
	// Its directory below that of the export. ENOMEM. May sleep.
	Status add_files();
	// Before it can be reached: from now on a change of rules of its configured export that
	// closes it out waits until it has ended. EACCES if it is not allowed any more. May sleep.
	Status published();
	// It stands in the table, where a change of rules that comes later closes it. EACCES if one
	// that came since published() found it in no table, and leaves its end to the caller. May
	// sleep.
	Status still_allowed();
	// The log line of a device that is open.
	void announce() const;
	// Once, by whoever took it out of the table; or by its maker, if it never got there. Does
	// not wait. Not for one that is not attached: its references are all there is.
	void end();
	// end() has come to its end: device and export are given back. Exports::wait() sees it.
	bool ended() const { return smp_load_acquire(&ended_); }
	// All I/O has ended, after end(). By the queue.
	void idle();

	// By their identities. Any context.
	bool is_same_disk(const Mapping &other) const
	{
		return !told_.wwid.empty() && told_.wwid == other.told_.wwid;
	}
	Session &session() const { return *session_; }
	AccessMode access_mode() const { return access_mode_; }
	TextView name() const { return name_.view(); }
	// Once it is in the table.
	DeviceId id() const { return id_; }
	void set_id(DeviceId id) { id_ = id; }

	// What is refused: a set of refusal::. Under the lock of SharedDisks, as the next two.
	u8 refused() const { return refused_; }
	void refuse(u8 what) { WRITE_ONCE(refused_, what); }
	// Why its device can have none, or null. Constant once it has joined.
	const char *no_reservations_ = nullptr;
	SharedDisk *disk_ = nullptr; // from join() to leave(), between which it may be read without
	cxxrt::ListNode on_disk_;
	// Both guarded by the lock of Exports.
	Export *export_ = nullptr;
	cxxrt::ListNode in_export_;
	// Under the lock of the session's table, until it is in there.
	cxxrt::ListNode making_;
	// Of whoever took it out of the table.
	cxxrt::ListNode ending_;

private:
	Mapping(Session &session, BlockDevice device, const OpenRequest &request, const Told &told,
		cxxrt::Box<ExportUse> use);

	void finish();
	DiskKey disk() const;

	// sysfs.cc
	void show_access_mode(cxxrt::SysfsText &text);
	void show_read_only(cxxrt::SysfsText &text);
	void show_mapping_path(cxxrt::SysfsText &text);
	void show_requests(cxxrt::SysfsText &text);
	void show_force_close(cxxrt::SysfsText &text);
	Status force_close(TextView input, cxxrt::SysfsCall &call);

	cxxrt::Ref<Session> session_;
	Exports &exports_;
	SharedDisks &disks_;
	// What each request needs, on a line.
	alignas(cxxrt::kCacheLine) BlockDevice device_;
	const AccessMode access_mode_;
	u8 refused_ = refusal::none;
	DeviceId id_{};
	WriteCacheNotice cache_;
	const u32 max_io_bytes_; // of the session
	cxxrt::Box<DiskQueue> queue_;
	RequestCounts counts_;

	OpenNumber open_number_{};
	const DeviceName name_;
	// As the answers to OPEN and IDENTIFY tell it. Capacity, block size and read-only state are
	// looked up anew for each request.
	const Told told_;
	bool ended_ = false;
	cxxrt::Box<ExportUse> use_;
	cxxrt::SysfsDir dir_;
	cxxrt::Work<Mapping, &Mapping::finish> finish_work_{this};
};

} // namespace rnbd::server
