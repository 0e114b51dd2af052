// SPDX-License-Identifier: GPL-2.0
// What the server did to the device while it was mapped: another size, read-only or not, closed.
#include <cxxrt/log.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/disk.hh>
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
bool Device::follow_cache(const DeviceCondition &now)
{
	DeviceProperties changed = properties_;
	changed.writeback = now.writeback;
	changed.fua = now.fua;
	if (changed.writeback != properties_.writeback)
		log_info(label(), "Device has %s at the server",
			 now.writeback ? "a volatile write cache" : "no volatile write cache");
	properties_ = changed;
	return follow_limits();
}

// Link lock held, published. The disk gets the limits that properties and topology say; true if it
// has them. If somebody else is about to change some, it gets them later: he may wait for the end
// of all requests, and these for a path, that is for the caller.
//
// Without a cache the block layer takes FUA from what is submitted, and gives it to us when it has
// a tag and a path: perhaps when there is a cache. So whatever has come here before the cache is
// known to the disk, or comes in the seconds after, goes out with FUA, however long it waits for a
// path. What waits longer than that for a tag is not covered: it gets one as answers come.
bool Device::follow_limits()
{
	constexpr u64 kForTags = 5 * NSEC_PER_SEC;
	constexpr unsigned int kRetryMs = 100;
	const cxxrt::DiskLimits now = disk_limits(properties_, topology_);
	const bool new_cache = now.write_cache && !disk_limits_.write_cache;
	// Looks at the server mostly find nothing new, and the queue's lock is not for these.
	const Status s =
	    now == disk_limits_ ? Status() : cxxrt::change_disk_limits(disk_, disk_limits_, now);
	if (!s.ok()) {
		if (new_cache)
			WRITE_ONCE(durable_until_, kUntilKnown);
		if (s.error() == err::ebusy)
			limits_retry_.queue_after(module_.workqueue(), msecs_to_jiffies(kRetryMs));
		else
			log_error_limited(label(),
					  "The kernel does not take the device's new limits: %d",
					  s.code());
		return false;
	}
	if (new_cache || durable_until_ == kUntilKnown)
		WRITE_ONCE(durable_until_, ktime_get_ns() + kForTags);
	disk_limits_ = now;
	return true;
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
