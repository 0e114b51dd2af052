// SPDX-License-Identifier: GPL-2.0
// What the server did to the device while it was mapped: another size, read-only or not, closed.
#include <cxxrt/log.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/disk.hh>
#include <rnbd/client/io.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

// Link lock held, and the epoch is that of the answer.
bool Device::take_state(const DeviceStatesView &states, const StatesScope &scope)
{
	if (state() != DeviceState::Mapped || !published_ ||
	    static_cast<s32>(open_number_ - scope.opens) > 0)
		return false;
	if (id_ < scope.first || id_ >= states.next())
		return false;
	Result<DeviceCondition> now = states.find({id_});
	if (!now.ok()) {
		close_by_server();
		return false;
	}
	if (!(now->capacity == server_capacity_))
		follow_capacity(now->capacity);
	if (now->read_only != server_read_only_) {
		log_info(label(), "Device is %s at the server",
			 now->read_only ? "read-only" : "no longer read-only");
		WRITE_ONCE(server_read_only_, now->read_only);
		events_.add(DeviceEvent::ReadOnly);
	}
	return !scope.cache || follow_cache(*now);
}

// Link lock held, published. If it returns true, flushes are sent from then on if there is a cache:
// whoever has dropped one by then has had all that it covers acknowledged by a server that knew so.
// And no write is with the transport any more that went without FUA for want of a cache: it may be
// at the disk, or be sent over another path, and is made durable by a server that is told of this
// when it has ended.
bool Device::follow_cache(const DeviceCondition &now)
{
	DeviceProperties changed = properties_;
	changed.writeback = now.writeback;
	changed.fua = now.fua;
	if (changed.writeback != properties_.writeback)
		log_info(label(), "Device has %s at the server",
			 now.writeback ? "a volatile write cache" : "no volatile write cache");
	properties_ = changed;
	return follow_limits() && plain_have_ended();
}

// Link lock held, published. The disk gets the limits that properties and topology say; true if it
// has them. If somebody else is about to change some, it gets them later: he may wait for the end
// of all requests, and these for a path, that is for the caller.
//
// Without a cache the block layer takes FUA from what is submitted, and gives it to us when it
// likes: it may wait for a tag, a path, its turn, or in a control group's limit, as long as that
// takes. So from the moment in which a cache comes all writes go out with FUA, until nobody who had
// the disk open before has it any more.
bool Device::follow_limits()
{
	constexpr unsigned int kRetryMs = 100;
	const cxxrt::DiskLimits now = disk_limits(properties_, topology_);
	const bool new_cache = now.write_cache && !disk_limits_.write_cache;
	if (new_cache) {
		WRITE_ONCE(makes_durable_, true);
		plain_until_ = kPlainUnknown;
	}
	// Looks at the server mostly find nothing new, and the queue's lock is not for these.
	const Status s =
	    now == disk_limits_ ? Status() : cxxrt::change_disk_limits(disk_, disk_limits_, now);
	if (!s.ok()) {
		if (new_cache)
			WRITE_ONCE(hides_cache_, true);
		if (s.error() == err::ebusy)
			limits_retry_.queue_after(session_->workqueue(),
						  msecs_to_jiffies(kRetryMs));
		else
			log_error_limited(label(),
					  "The kernel does not take the device's new limits: %d",
					  s.code());
		return false;
	}
	WRITE_ONCE(hides_cache_, false);
	disk_limits_ = now;
	return true;
}

// Link lock held, published. How often it is asked, and answers no, is of no consequence but that
// the server makes writes durable that are so anyway.
bool Device::plain_have_ended()
{
	if (plain_until_ == kPlainUnknown) {
		// A submitter that has not seen makes_durable_ has sent its request when this is
		// over.
		synchronize_rcu();
		plain_until_ = ktime_get_ns();
	}
	if (oldest_request_began(*this) < plain_until_)
		return false;
	plain_until_ = 0;
	return true;
}

// Every earlier opener has seen all of its requests end before it closed the disk.
void Device::first_opens()
{
	if (!makes_durable())
		return;
	session_->with_link([this](Link &) {
		if (!hides_cache_)
			WRITE_ONCE(makes_durable_, false);
	});
}

void Device::retry_limits()
{
	session_->with_link([this](Link &) {
		if (published_ && state() != DeviceState::Unmapped)
			follow_limits();
	});
}

// Link lock held, published: the disk gets the size that the properties say.
void Device::change_capacity()
{
	const u64 was = get_capacity(disk_);
	const u64 now = properties_.capacity.value;
	if (was == now)
		return;
	set_capacity(disk_, now);
	// As the kernel does: a disk that has no medium is no disk that has shrunk.
	if (was && now)
		events_.add(DeviceEvent::Resized);
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
	change_capacity();
}

// Link lock held; of a link that has come back. A device that the server has closed stays so over
// any loss of paths, unless that server has started anew: it says another instance then.
bool Device::comes_back(u64 instance)
{
	if (state() != DeviceState::MappedDisconnected)
		return false;
	if (closed_by_server_ && (!instance_ || !instance || instance == instance_))
		return false;
	closed_by_server_ = false;
	return true;
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
		events_.add(DeviceEvent::Offline);
}

void Device::note_unknown_id(u32 open_number)
{
	WRITE_ONCE(unknown_open_, open_number);
	unknown_id_.queue(session_->workqueue());
}

void Device::check_unknown_id()
{
	session_->with_link([&](Link &) {
		if (state() == DeviceState::Mapped && open_number_ == READ_ONCE(unknown_open_))
			close_by_server();
	});
}

} // namespace rnbd::client
