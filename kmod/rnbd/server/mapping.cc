// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/mapping.hh>

#include <cxxrt/log.hh>
#include <rnbd/server/configured.hh>
#include <rnbd/server/export.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/shared_disk.hh>
#include <rnbd/server/session.hh>

namespace rnbd::server {

Mapping::Mapping(Session &session, BlockDevice device, const OpenRequest &request, const Told &told,
		 cxxrt::Box<ExportUse> use)
    : session_(cxxrt::Ref<Session>::share(&session)), exports_(session.module().exports()),
      disks_(session.module().disks()), device_(cxxrt::move(device)),
      access_mode_(request.access_mode), cache_(told.properties.writeback),
      max_io_bytes_(session.max_io_bytes()), name_(request.name), told_(told),
      use_(cxxrt::move(use))
{
	exports_.born();
}

Mapping::~Mapping()
{
	exports_.gone();
}

Result<cxxrt::Ref<Mapping>> Mapping::create(Session &session, BlockDevice device,
					    const OpenRequest &request, const Told &told,
					    cxxrt::Box<ExportUse> use)
{
	Mapping *mapping =
	    new (GFP_KERNEL) Mapping(session, cxxrt::move(device), request, told, cxxrt::move(use));
	if (!mapping)
		return err::enomem;
	cxxrt::Ref<Mapping> made = cxxrt::Ref<Mapping>::adopt(mapping);
	made->queue_ = TRY(DiskQueue::create(*mapping));
	made->counts_ = TRY(RequestCounts::create());
	return made;
}

DeviceCondition Mapping::condition() const
{
	return {.device = id_,
		.capacity = device_.capacity(),
		.read_only = device_.read_only(),
		.writeback = device_.has_cache(),
		.fua = device_.has_fua()};
}

// By its identity, since it may be unplugged and plugged in again, or its module be loaded anew.
DiskKey Mapping::disk() const
{
	return DiskKey::of(told_.wwid.empty() ? TextView::of(device_.disk_name())
					      : told_.wwid.view());
}

Identity Mapping::identity() const
{
	return {.wwid = told_.wwid,
		.losses = session_->module().losses().of(disk()) + device_.losses(),
		.configured = static_cast<bool>(use_)};
}

Status Mapping::published()
{
	return use_ ? use_->published(*this) : Status();
}

Status Mapping::still_allowed()
{
	return use_ ? use_->still_allowed() : Status();
}

void Mapping::announce() const
{
	log_info_limited(Subject(*session_, name_).c_str(), "Opened device, id %u, access mode %s",
			 id_.value, to_text(access_mode_));
}

void Mapping::end()
{
	get(); // for finish()
	queue_->end();
}

void Mapping::idle()
{
	finish_work_.queue(session_->module().endings());
}

void Mapping::drained()
{
	if (disk_->drained())
		disks_.wake();
}

// No I/O is under way any more.
void Mapping::finish()
{
	const bool was_open = static_cast<bool>(dir_);
	// 1. No file method runs or will run. Not under the lock of Exports: force_close needs it.
	dir_.reset();
	// 2. What was written is durable: whoever gets the device next finds it, and it outlasts an
	//    orderly restart of the machine (serving.cc). If not, whoever opens it learns of that.
	if (may_write(access_mode_) && !device_.flush().ok()) {
		log_warning_limited(Subject(*session_, name_).c_str(), "Flush at close failed");
		device_.note_loss();
		session_->module().losses().add(disk());
	}
	// 3. The access right is given back. The device is still open, so the export's key, its
	//    address, cannot stand for another device meanwhile.
	exports_.detach(*this);
	disks_.leave(*this);
	// 4. Nobody knows it any more, once its configured export has forgotten it. The close is
	//    before, so that the device is free for whoever sees no users, or no export.
	device_.close();
	use_.reset();
	if (was_open)
		log_info_limited(Subject(*session_, name_).c_str(), "Device closed, id %u",
				 id_.value);
	smp_store_release(&ended_, true);
	exports_.wake();
	// 5. Whoever has looked the id up without a reference is through with it.
	synchronize_rcu(); // raw: the memory may go now
	put();
}

} // namespace rnbd::server
