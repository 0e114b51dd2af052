// SPDX-License-Identifier: GPL-2.0
// One device that one session has open.
//
// Life: create() → Exports::attach() → in the session's table of ids, where I/O finds it →
// add_files() → whoever takes it out of the table (CLOSE, force_close, the end of the session; the
// table gives it to one of them) calls end(), or shut() and later end(). References keep the
// memory; the table, and whoever is about to call end(), hold one.
#pragma once

#include <cxxrt/inflight.hh>
#include <cxxrt/list.hh>
#include <cxxrt/print.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/sysfs.hh>
#include <rnbd/pure/access.hh>
#include <rnbd/server/block_device.hh>
#include <rnbd/wire/extension.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/operations.hh>

namespace rnbd {

class Export;
class ExportUse;
class Exports;
class Session;

class Mapping : public cxxrt::RefCounted<Mapping> {
public:
	// ENOMEM. May sleep.
	// `use` is of the configured export that it is opened by, or empty.
	static Result<cxxrt::Ref<Mapping>> create(Session &session, Exports &exports,
						  BlockDevice device, const OpenRequest &request,
						  cxxrt::Box<ExportUse> use);
	~Mapping();

	// ---- for I/O: between enter() and leave() the device stays open. Any context.
	// False when the mapping ends.
	[[nodiscard]] bool enter() { return users_->enter(); }
	void leave() { users_->leave(); }
	DeviceLimits limits() const
	{
		return {
		    .capacity = device_.capacity(),
		    .logical_block_size = device_.logical_block_size(),
		    .read_only = !may_write(access_mode_) || device_.read_only(),
		    .max_io_bytes = max_io_bytes_,
		    .max_discard_sectors = announced_.max_discard_sectors,
		    .max_secure_erase_sectors = announced_.max_secure_erase_sectors,
		    .max_write_zeroes_sectors = announced_.max_write_zeroes_sectors,
		};
	}
	// As it is now.
	DeviceCondition condition() const
	{
		return {.device = id_,
			.capacity = device_.capacity(),
			.read_only = device_.read_only(),
			.writeback = false,
			.fua = false};
	}
	DeviceTopology topology() const { return device_.topology(); }
	block_device *device() const { return device_.get(); }

	// ---- life
	// Its directory below that of the export. ENOMEM. May sleep.
	Status add_files();
	// It stands in the table, and its files are there. EACCES if its configured export does not
	// allow it any more; from now on it may be closed at any time.
	Status published();
	// The log line of a device that is open.
	void announce() const;
	// Lets no I/O in any more; does not wait. Before end(), by the same caller.
	void shut() { users_->shut(); }
	// Once, by whoever took it out of the table; or by its maker, if it never got there, or if
	// it is not attached. Sleeps until its I/O has ended.
	void end();

	Session &session() const { return *session_; }
	AccessMode access_mode() const { return access_mode_; }
	TextView name() const { return name_.view(); }
	// Once it is in the table.
	DeviceId id() const { return id_; }
	void set_id(DeviceId id) { id_ = id; }

	// Both guarded by the lock of Exports.
	Export *export_ = nullptr;
	cxxrt::ListNode in_export_;
	// Of whoever took it out of the table.
	cxxrt::ListNode ending_;

private:
	Mapping(Session &session, Exports &exports, BlockDevice device, const OpenRequest &request,
		cxxrt::Box<cxxrt::Inflight> users, cxxrt::Box<ExportUse> use);

	// sysfs.cc
	void show_access_mode(cxxrt::SysfsText &text);
	void show_read_only(cxxrt::SysfsText &text);
	void show_mapping_path(cxxrt::SysfsText &text);
	void show_force_close(cxxrt::SysfsText &text);
	Status force_close(TextView input, cxxrt::SysfsCall &call);

	cxxrt::Ref<Session> session_;
	Exports &exports_;
	BlockDevice device_;
	const AccessMode access_mode_;
	const DeviceName name_;
	DeviceId id_{};
	// As told in the OPEN answer. Capacity, block size and read-only state are looked up anew
	// for each request.
	const DeviceProperties announced_;
	const u32 max_io_bytes_; // of the session
	cxxrt::Box<cxxrt::Inflight> users_;
	cxxrt::Box<ExportUse> use_;
	cxxrt::SysfsDir dir_;
};

} // namespace rnbd
