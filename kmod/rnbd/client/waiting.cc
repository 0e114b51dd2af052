// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/waiting.hh>

#include <cxxrt/block.hh>
#include <cxxrt/log.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

using cxxrt::lock_class;
using Verdict = NoPathRule::Verdict;

WaitingRequests::WaitingRequests(Device &device)
    : device_(device), room_(lock_class<"rnbd_client waiting">())
{
}

// Under the lock: takes out what has to fail, or sees to it that somebody looks again in time.
void WaitingRequests::fail_if_over(Room &room, Requests &failed)
{
	const u64 now = ktime_get_ns();
	if (room.rule.over(now)) {
		failed.take_all(room.requests);
		room.count = 0;
	} else if (room.rule.limited()) {
		// One tick more, so that the time is over then.
		expire_.requeue_after(device_.session().workqueue(),
				      nsecs_to_jiffies(room.rule.left(now)) + 1);
	}
}

void WaitingRequests::fail_all(Requests &failed)
{
	while (IoRequest *io = failed.pop_front()) {
		device_.stats().count(&DeviceStats::Counters::errors);
		blk_mq_end_request(io->rq(), BLK_STS_IOERR);
	}
}

void WaitingRequests::lose()
{
	Requests failed;
	room_.with([&](Room &room) {
		room.rule.lose(ktime_get_ns());
		fail_if_over(room, failed);
	});
	fail_all(failed);
}

void WaitingRequests::restore()
{
	// In the order in which the block layer wants them, the oldest is its first.
	Requests back;
	room_.with([&](Room &room) {
		room.rule.restore(ktime_get_ns());
		room.count = 0;
		while (IoRequest *io = room.requests.pop_front())
			if constexpr (cxxrt::requeues_in_order())
				back.push_back(*io);
			else
				back.push_front(*io);
	});
	request_queue *queue = nullptr;
	while (IoRequest *io = back.pop_front()) {
		queue = io->rq()->q;
		blk_mq_requeue_request(io->rq(), false);
	}
	if (queue)
		blk_mq_kick_requeue_list(queue);
}

void WaitingRequests::end()
{
	Requests failed;
	room_.with([&](Room &room) {
		room.rule.end();
		fail_if_over(room, failed);
	});
	fail_all(failed);
}

void WaitingRequests::reject()
{
	Requests failed;
	room_.with([&](Room &room) {
		room.rule.reject();
		fail_if_over(room, failed);
	});
	fail_all(failed);
}

void WaitingRequests::set_timeout(int seconds)
{
	Requests failed;
	room_.with([&](Room &room) {
		WRITE_ONCE(timeout_, seconds);
		room.rule.set_timeout(seconds);
		fail_if_over(room, failed);
	});
	fail_all(failed);
}

Verdict WaitingRequests::admit(request *rq, Cause cause)
{
	IoRequest &io = *IoRequest::of(rq);
	return room_.with([&](Room &room) {
		const u64 now = ktime_get_ns();
		// A path had it until now; or the time is that of an earlier user of this memory.
		if (cause == Cause::Lost || io.missed_ns < io.began_ns)
			io.missed_ns = now;
		const Verdict verdict = room.rule.judge(io.missed_ns, now);
		if (verdict == Verdict::Wait) {
			room.requests.push_back(io);
			room.count++;
			// In here: afterwards the request may end, and the device with it.
			device_.stats().count(&DeviceStats::Counters::waits);
		}
		return verdict;
	});
}

Verdict WaitingRequests::judge(u64 missed_ns)
{
	return room_.with([&](Room &room) { return room.rule.judge(missed_ns, ktime_get_ns()); });
}

u32 WaitingRequests::count()
{
	return room_.with([](Room &room) { return room.count; });
}

void WaitingRequests::expire()
{
	Requests failed;
	const bool over = room_.with([&](Room &room) {
		fail_if_over(room, failed);
		return room.rule.over(ktime_get_ns());
	});
	if (over)
		log_error(device_.label(), "No path for %d s: requests fail from now on",
			  timeout());
	fail_all(failed);
}

} // namespace rnbd::client
