// SPDX-License-Identifier: GPL-2.0
// The life of a device: creation, and the unmap that ends it.
#include <rnbd/client/device.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>
#include <rnbd/client/sessions.hh>

namespace rnbd::client {

using cxxrt::lock_class;
using cxxrt::LockGuard;

Device::Device(Module &module, Ref<Session> session, const DeviceName &name, AccessMode mode,
	       u32 index)
    : module_(module), session_(session), mode_(mode), index_(index), name_(name),
      opens_(lock_class<"rnbd_client opens">()), changed_(lock_class<"rnbd_client device">()),
      open_work_(this), ask_(this), retry_(this), limits_retry_(this), unmap_work_(this),
      waiting_(*this), events_(*this), slow_(*this), unknown_id_(this),
      building_(lock_class<"rnbd_client building">()), directory_(*this)
{
	label_.print("%s@%s", name_.c_str(), session_->name());
}

Device::~Device()
{
	WARN_ON_ONCE(use_);
	module_.free_index(index_);
}

void Device::destroy()
{
	Module &module = module_;
	delete this;
	module.object_gone();
}

Result<Ref<Device>> Device::create(SessionUse use, const DeviceName &name, AccessMode mode,
				   TextView owner)
{
	Module &module = use->module();
	Ref<Session> session = use.session();
	auto owned_use = TRY(cxxrt::make_box<SessionUse>(GFP_KERNEL, cxxrt::move(use)));
	const u32 index = TRY(module.allocate_index());
	auto *object = module.new_object<Device>(module, session, name, mode, index);
	if (!object) {
		module.free_index(index);
		return err::enomem;
	}
	Ref<Device> device = Ref<Device>::adopt(object);
	device->owner_.assign(owner);
	device->stats_ = TRY(DeviceStats::create());
	TRY(device->reserve_.create(*session, kReservedAnswer));
	TRY(session->add(*device));
	device->use_ = cxxrt::move(owned_use);
	return device;
}

Status Device::resize(Sectors capacity)
{
	if (capacity.value > kMaxCapacitySectors ||
	    capacity.value % (properties_.logical_block_size >> kSectorShift))
		return err::einval;
	return session_->with_link([&](Link &) -> Status {
		if (state() != DeviceState::Mapped)
			return err::enoent;
		properties_.capacity = capacity;
		change_capacity();
		return {};
	});
}

void Device::set_state(DeviceState to)
{
	WARN_ON_ONCE(!transition_allowed(state_, to));
	__atomic_store(&state_, &to, __ATOMIC_RELEASE);
}

Status Device::map(int no_path_timeout)
{
	session_->await_introduction();
	Status s = await_open(start_open());
	if (s.ok())
		s = publish(no_path_timeout);
	if (s.ok()) {
		// The events are out: a `udevadm settle` that comes after the write waits for their
		// handling.
		events_.flush();
		return {};
	}
	log_error(label(), "Mapping failed: %d", s.code());
	// A writer of unmap_device, which is visible by now, may have claimed the unmap before.
	if (claim_unmap(true).ok())
		finish_unmap();
	return s;
}

void Device::lose_link()
{
	if (state() != DeviceState::Mapped)
		return;
	set_state(DeviceState::MappedDisconnected);
	waiting_.lose();
	if (!published_)
		return;
	log_warning(label(), "Device disconnected");
	events_.add(DeviceEvent::Offline);
}

// ---- unmap ----

// From here on new I/O fails at once, the disk can't be opened, and an OPEN that succeeds later is
// followed by its CLOSE.
Status Device::claim_unmap(bool say_close)
{
	Status claimed = session_->with_link([&](Link &) -> Status {
		const DeviceState before = state();
		if (!transition_allowed(before, DeviceState::Unmapped))
			return err::ealready;
		say_close_ = say_close && before == DeviceState::Mapped;
		set_state(DeviceState::Unmapped);
		return {};
	});
	if (claimed.ok()) {
		changed_.wake_all();
		waiting_.end();
	}
	return claimed;
}

// The disk's open lock makes the test and the change of state one step for who opens the disk.
Status Device::claim_unmap_unless_open()
{
	if (state() == DeviceState::Unmapped)
		return err::ealready;
	// The block layer's reader of partitions holds it, and may wait for a path.
	if (mutex_lock_killable(&disk_->open_mutex)) // raw: the block layer's own lock
		return err::eintr;
	Status claimed = disk_openers(disk_) ? Status(err::ebusy) : claim_unmap(true);
	mutex_unlock(&disk_->open_mutex); // raw: as above
	return claimed;
}

Status Device::unmap(UnmapMode mode, cxxrt::SysfsCall &call)
{
	if (module_.stopping())
		return err::enodev;
	if (mode == UnmapMode::Normal)
		TRY(claim_unmap_unless_open());
	else
		TRY(claim_unmap(true));
	// The thread that claimed the unmap is the only one that removes files.
	WARN_ON_ONCE(!call.remove_file());
	finish_unmap();
	return {};
}

void Device::start_unmap_at_unload()
{
	const DeviceState before = state();
	if (!transition_allowed(before, DeviceState::Unmapped))
		return;
	set_state(DeviceState::Unmapped);
	changed_.wake_all();
	waiting_.end();
	unmap_work_.queue(module_.background());
}

// Each step needs the one before:
void Device::finish_unmap()
{
	// map() has made all that it makes;
	{
		LockGuard built(building_);
	}
	// no work item of the device begins any more, but an OPEN that is under way ends;
	ask_.cancel_sync();
	retry_.cancel_sync();
	limits_retry_.cancel_sync();
	waiting_.stop_timer();
	// no event of the disk goes out, whose directory is about to go;
	events_.stop();
	// no new command;
	remove_link();
	directory_.remove();
	// every request has ended: new ones fail since the claim, old ones end by their answer or
	// with their path;
	if (disk_)
		del_gendisk(disk_);
	// nobody finds a slow one any more;
	slow_.stop();
	// so the server can let go of the device;
	if (say_close_)
		exchange_close(*session_,
			       {.number = number_, .id = {id_}, .mode = mode_, .name = name_},
			       epoch_);
	// what an OPEN goes on with that nobody waits for is closed when it has come to its end;
	if (!module_.stopping())
		open_work_.queue(session_->workqueue());
	if (disk_)
		log_info(label(), "Device is unmapped");
	// the path may be mapped again;
	cxxrt::Box<SessionUse> use = cxxrt::move(use_);
	session_->remove(*this);
	// the disk drops its reference when its last opener has gone;
	if (disk_)
		put_disk(disk_);
	// last, since it may close the session.
	use.reset();
}

} // namespace rnbd::client
