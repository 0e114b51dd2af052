// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/slow.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/io.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {
constexpr unsigned int kSlowLookMs = 5'000; // bounds events and lines, too
constexpr u64 kTimerSlackMs = 20;	    // of a timer that counts in jiffies
} // namespace

// No effect while a look is due: it will see the same.
void SlowDisk::note()
{
	look_.queue_after(device_.session().module().background(), 0);
}

// In a work item: while a disk is slow, it is looked at again until it is not.
void SlowDisk::look()
{
	Session &session = device_.session();
	const u64 age = oldest_request_age(device_);
	session.with_link([&](Link &) {
		const gendisk *disk = device_.disk();
		// Its partitions are being read; the block layer's timer comes again.
		if (!disk)
			return;
		const u64 limit = jiffies_to_msecs(disk->queue->rq_timeout);
		// What waits for a path is another matter, which is told by itself.
		const bool open = device_.state() == DeviceState::Mapped;
		const bool slow = open && age + kTimerSlackMs >= limit;
		if (slow)
			look_.queue_after(session.module().background(),
					  msecs_to_jiffies(kSlowLookMs));
		if (slow == told_)
			return;
		WRITE_ONCE(told_, slow);
		if (!open)
			return;
		device_.events().add(slow ? DeviceEvent::Slow : DeviceEvent::Answers);
		if (slow)
			log_warning(device_.label(),
				    "The server's disk does not answer: the oldest request has "
				    "waited for %llu s, its path is in order",
				    static_cast<unsigned long long>(age / MSEC_PER_SEC));
		else
			log_info(device_.label(), "The server's disk answers again");
	});
}

} // namespace rnbd::client
