// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/disk_queue.hh>

#include <cxxrt/new.hh>
#include <rnbd/server/mapping.hh>

namespace rnbd::server {

using cxxrt::Plug;

DiskQueue::DiskQueue(Mapping &mapping, cxxrt::Workqueue worker)
    : mapping_(mapping), worker_(cxxrt::move(worker))
{
}

Result<cxxrt::Box<DiskQueue>> DiskQueue::create(Mapping &mapping)
{
	cxxrt::Workqueue worker =
	    TRY(cxxrt::Workqueue::create_ordered("rnbd_server_disk", WQ_MEM_RECLAIM));
	auto queue = TRY(cxxrt::make_box<DiskQueue>(GFP_KERNEL, mapping, cxxrt::move(worker)));
	queue->gate_ = TRY(cxxrt::Gate::create(emptied, queue.get()));
	return queue;
}

// ---- the line

// Once for a line, as the worker goes on until that has ended. Under the lock: outside of it the
// worker may have submitted the jobs, and with their end the queue may go.
void DiskQueue::wake_worker()
{
	if (lined_up_)
		return;
	WRITE_ONCE(lined_up_, true);
	submit_work_.queue(worker_);
}

void DiskQueue::line_up(IoJob &job)
{
	lines_.with([&](Lines &l) {
		l.waiting.push_back(job);
		wake_worker();
	});
}

// The list lies in one of its jobs.
void DiskQueue::line_up(JobList &jobs)
{
	lines_.with([&](Lines &l) {
		l.waiting.take_all(jobs);
		wake_worker();
	});
}

void DiskQueue::line_up_in_batch(IoJob &job)
{
	if (!Collector::plugged()) {
		line_up(job);
		return;
	}
	Collector *collector = Collector::of_plug(this);
	if (!collector) {
		static_assert(sizeof(Collector) <= sizeof(job.collector));
		static_assert(alignof(Collector) <= alignof(void *));
		collector = new (job.collector) Collector(*this);
	}
	collector->add(job);
}

// The line exists until the last one of it has been submitted.
IoJob *DiskQueue::next()
{
	return lines_.with([&](Lines &l) {
		IoJob *job = l.waiting.pop_front();
		if (!job)
			WRITE_ONCE(lined_up_, false);
		return job;
	});
}

// Reservations may be others than when it came. What it wrote already is made durable all the same.
bool DiskQueue::may_go_on(const IoJob &job) const
{
	return job.step == IoJob::Step::Durable || !mapping_.refuses(is_read(job));
}

void DiskQueue::submit_all()
{
	Plug together;
	while (IoJob *job = next())
		if (rtrs_srv_op_dead(job->op))
			drop_waiting(*job, -ECONNABORTED);
		else if (!may_go_on(*job))
			drop_waiting(*job, err::ebade.code());
		else
			submit_waiting(*job);
}

// ---- the gate

// Any context. When the last I/O has ended none is in the line, so the worker is free.
void DiskQueue::emptied(void *self)
{
	auto *queue = static_cast<DiskQueue *>(self);
	queue->emptied_work_.queue(queue->worker_);
}

void DiskQueue::on_emptied()
{
	bool fenced = false;
	const bool ended = closing_.with([&](Closing &c) {
		fenced = cxxrt::exchange(c.fenced, false);
		if (lines_.with([](const Lines &l) { return l.ending; })) {
			c.finished = true;
			return true;
		}
		c.closed = false;
		gate_->open();
		lines_.with([&](Lines &l) {
			l.holding = false;
			while (IoJob *job = l.held.pop_front()) {
				WARN_ON_ONCE(!gate_->enter());
				l.waiting.push_back(*job);
				WRITE_ONCE(lined_up_, true);
			}
		});
		return false;
	});
	if (fenced)
		mapping_.drained();
	if (ended)
		mapping_.idle();
	else
		submit_all();
}

void DiskQueue::move_dead(JobList &from, JobList &dead)
{
	JobList alive;
	while (IoJob *job = from.pop_front())
		(rtrs_srv_op_dead(job->op) ? dead : alive).push_back(*job);
	from.take_all(alive);
}

void DiskQueue::path_closing(Dropped &dropped)
{
	closing_.with([&](Closing &c) {
		const bool ending = lines_.with([&](Lines &l) {
			move_dead(l.held, dropped.held_);
			move_dead(l.waiting, dropped.waiting_);
			l.holding = true;
			return l.ending;
		});
		// While it is closed nothing has begun since.
		if (!ending && !cxxrt::exchange(c.closed, true))
			gate_->close();
	});
}

// If it is closed already, nothing has begun since that has not looked.
bool DiskQueue::fence()
{
	return closing_.with([&](Closing &c) {
		if (c.finished || cxxrt::exchange(c.fenced, true))
			return false;
		if (!cxxrt::exchange(c.closed, true)) {
			lines_.with([](Lines &l) { l.holding = true; });
			gate_->close();
		}
		return true;
	});
}

void DiskQueue::Dropped::answer()
{
	while (IoJob *job = held_.pop_front())
		drop_held(*job, -ECONNABORTED);
	while (IoJob *job = waiting_.pop_front())
		drop_waiting(*job, -ECONNABORTED);
}

void DiskQueue::end()
{
	JobList held;
	closing_.with([&](Closing &c) {
		lines_.with([&](Lines &l) {
			l.ending = true;
			held.take_all(l.held);
		});
		if (!cxxrt::exchange(c.closed, true))
			gate_->close();
	});
	while (IoJob *job = held.pop_front())
		drop_held(*job, -ENOTCONN);
}

} // namespace rnbd::server
