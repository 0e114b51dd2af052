// SPDX-License-Identifier: GPL-2.0
// What the server did to the device while it was mapped: another size, read-only or not, closed.
#include <cxxrt/log.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

// With what udev and multipath need to tell the disk, in the event itself.
void Device::send_event(kobject_action action)
{
	cxxrt::TextBuffer<sizeof("ID_SERIAL=") + kWwidSize> serial;
	cxxrt::TextBuffer<sizeof("RNBD_SESSION=") + 256> session;
	serial.print("ID_SERIAL=%s", wwid_.c_str());
	session.print("RNBD_SESSION=%s", session_->name());
	char *environment[] = {session.data(), wwid_.empty() ? nullptr : serial.data(), nullptr};
	kobject_uevent_env(&disk_to_dev(disk_)->kobj, action, environment);
}

// Link lock held, and the epoch is that of the answer.
void Device::take_state(const DeviceStatesView &states, const StatesScope &scope)
{
	if (state() != DeviceState::Mapped || !published_ ||
	    static_cast<s32>(open_number_ - scope.opens) > 0)
		return;
	if (id_ < scope.first || id_ >= states.next())
		return;
	Result<DeviceCondition> now = states.find({id_});
	if (!now.ok()) {
		close_by_server();
		return;
	}
	if (!(now->capacity == server_capacity_))
		follow_capacity(now->capacity);
	if (now->read_only != server_read_only_) {
		log_info(label(), "Device is %s at the server",
			 now->read_only ? "read-only" : "no longer read-only");
		WRITE_ONCE(server_read_only_, now->read_only);
		set_disk_ro(disk_, read_only());
	}
}

// Only what is new at the server: a size that was written into `resize` stays.
void Device::follow_capacity(Sectors now)
{
	const u64 was = get_capacity(disk_);
	server_capacity_ = now;
	const u32 block = properties_.logical_block_size >> kSectorShift;
	now.value -= now.value % block;
	if (now.value > kMaxCapacitySectors)
		return;
	properties_.capacity = now;
	log_info(label(), "Device has %llu sectors now, %llu before",
		 static_cast<unsigned long long>(now.value), static_cast<unsigned long long>(was));
	set_capacity_and_notify(disk_, now.value);
}

// Link lock held, state Mapped. An administrator of the server wants it so: the device is not
// opened again but on request, or with all others when the server has started anew.
void Device::close_by_server()
{
	log_warning(label(), "The server has closed the device; remap_device opens it again");
	closed_by_server_ = true;
	set_state(DeviceState::MappedDisconnected);
	waiting_.reject();
	if (published_)
		send_event(KOBJ_OFFLINE);
}

void Device::note_unknown_id(u32 open_number)
{
	WRITE_ONCE(unknown_open_, open_number);
	unknown_id_.queue(module_.workqueue());
}

void Device::check_unknown_id()
{
	session_->with_link([&](Link &) {
		if (state() == DeviceState::Mapped && open_number_ == READ_ONCE(unknown_open_))
			close_by_server();
	});
}

} // namespace rnbd::client
