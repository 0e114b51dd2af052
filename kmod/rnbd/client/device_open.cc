// SPDX-License-Identifier: GPL-2.0
// OPEN: the first one, and those after a reconnect or on request. One work item sends them all, so
// there is never more than one in flight for a device, and none is abandoned: whoever asked may
// give up waiting, the work item stays and closes what nobody wants any more.
#include <cxxrt/log.hh>
#include <cxxrt/noio.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/disk.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

u32 Device::start_open()
{
	const u32 number = opens_.with([](Opens &o) { return ++o.wanted; });
	open_work_.queue(module_.workqueue());
	return number;
}

// ETIMEDOUT: the server's disk hangs, or the server has lost the question. Only who waits gives up.
Status Device::await_open(u32 number)
{
	constexpr unsigned int kPatienceMs = 60'000;
	auto ended = [&] {
		return opens_.with(
		    [&](Opens &o) { return static_cast<int>(o.ended - number) >= 0; });
	};
	TRY(changed_.wait_killable_for(msecs_to_jiffies(kPatienceMs), [&] {
		return state() == DeviceState::Unmapped || ended();
	}));
	if (!ended())
		return err::enodev;
	return opens_.with([](Opens &o) { return Status::from_code(o.code); });
}

void Device::run_open()
{
	const cxxrt::NoIoScope noio;
	const u32 number = opens_.with([](Opens &o) { return o.wanted; });
	const Session::Since since = session_->now();
	Status s = session_->resend_while_up([&] {
		Status one = state() == DeviceState::Unmapped ? Status(err::enodev) : open_once();
		open_error_ = one.code();
		return one;
	});
	// A loss of the link needs no second try: its end brings an OPEN.
	if (!s.ok() && !session_->lost(since))
		try_again_later();
	opens_.with([&](Opens &o) {
		o.ended = number;
		o.code = s.code();
	});
	changed_.wake_all();
}

// A server that has just started may not have the device yet, and one that has not noticed the loss
// still has it open.
void Device::try_again_later()
{
	constexpr unsigned int kRetryMs = 5'000;
	session_->with_link([&](Link &) {
		if (state() == DeviceState::MappedDisconnected && !closed_by_server_)
			retry_.queue_after(module_.workqueue(), msecs_to_jiffies(kRetryMs));
	});
}

Status Device::open_once()
{
	Result<OpenedDevice> opened = exchange_open(*session_, mode_, name_, reserve_);
	if (!opened.ok()) {
		if (opened.code() != open_error_)
			log_error(label(), "Cannot open the device at the server: %d",
				  opened.code());
		return opened.error();
	}
	Status taken = session_->with_link([&](Link &link) { return take_opened(link, *opened); });
	// If the epoch is over, this sends nothing.
	if (!taken.ok())
		exchange_close(*session_, opened->properties.device, opened->epoch, &reserve_);
	return taken;
}

// What a disk can't change under its users; everything else is taken over (protocol G.3-19).
Status Device::check_unchanged(const OpenedDevice &now) const
{
	const bool known = open_error_ == err::einval.code();
	if (!wwid_.empty() && !now.wwid.empty() && !(wwid_ == now.wwid)) {
		if (!known)
			log_error(label(),
				  "Device stays disconnected: the server has another one of that "
				  "name, %s instead of %s",
				  now.wwid.c_str(), wwid_.c_str());
		return err::einval;
	}
	const u32 was = properties_.logical_block_size;
	if (was == now.properties.logical_block_size)
		return {};
	if (!known)
		log_error(label(),
			  "Device stays disconnected: its logical block size has changed from %u "
			  "to %u",
			  was, now.properties.logical_block_size);
	return err::einval;
}

// Link lock held, no request is with the server.
void Device::check_instance(u64 now)
{
	const u64 was = instance_;
	instance_ = now;
	// An older server does not tell.
	if (!was || !now || was == now || !properties_.writeback || !published_)
		return;
	if (unflushed_.server_restarted(disk_openers(disk_)))
		log_error(label(), "The server has started anew, and may have lost writes that "
				   "were not flushed: flushes fail until nobody has the disk open");
}

// Link lock held.
Status Device::take_opened(Link &link, const OpenedDevice &opened)
{
	if (link.epoch != opened.epoch)
		return err::econnreset;
	const DeviceProperties &now = opened.properties;
	switch (state()) {
	case DeviceState::Unmapped:
		return err::enodev;
	case DeviceState::Mapped:
		// Two commands asked; the server gave the same device for both.
		return {};
	case DeviceState::MappedDisconnected:
		TRY(check_unchanged(opened));
		check_instance(opened.instance);
		break;
	case DeviceState::Init:
		instance_ = opened.instance;
		break;
	}
	const DeviceProperties was = cxxrt::exchange(properties_, now);
	server_capacity_ = now.capacity;
	if (wwid_.empty())
		wwid_ = opened.wwid;
	closed_by_server_ = false;
	WRITE_ONCE(open_number_, ++link.opens);
	WRITE_ONCE(id_, now.device.value);
	epoch_ = opened.epoch;
	if (published_)
		update_disk_limits(disk_, was, now);
	set_state(DeviceState::Mapped);
	waiting_.restore();
	if (published_) {
		change_capacity();
		events_.add(DeviceEvent::Online);
		log_info(label(), "Device reconnected");
	}
	return {};
}

Status Device::remap()
{
	TRY(check_remap(state()));
	return await_open(start_open());
}

} // namespace rnbd::client
