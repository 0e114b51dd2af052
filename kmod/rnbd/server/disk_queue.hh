// SPDX-License-Identifier: GPL-2.0
// The way of a mapping's I/O to its disk.
//
// In the common case I/O passes the gate and is submitted at once, by the thread that handles the
// completions of a connection, which serves all disks and so must not sleep for one. Everything
// that could make it sleep is done by the mapping's own worker, in the order in which it came:
// all I/O of a disk that may sleep (BlockDevice::never_sleeps()), what the disk has no room for
// (the block layer refuses REQ_NOWAIT with EAGAIN), and while such a line exists whatever comes
// after. A worker that sleeps holds up its own disk. What a batch of completions brings for one
// disk lines up together at the end of the batch, and wakes the worker once.
//
// When a path closes, what it had begun on this disk must have ended before anything newer begins
// (barrier): the client has sent its requests again, and an older copy must not land on top. The
// gate closes; what comes is held back, without being counted by the gate; when the last one has
// left, it opens, and who was held back goes to the end of the line.
//
// The end of the mapping is the same but that the gate stays closed. When a reservation takes
// rights away (fence), it is a barrier without anybody whose requests are dropped: those that may
// not begin any more are refused when their turn comes.
#pragma once

#include <cxxrt/gate.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/plug.hh>
#include <cxxrt/work.hh>
#include <rnbd/server/io_job.hh>

namespace rnbd::server {

class Mapping;

class DiskQueue {
	using JobList = cxxrt::List<IoJob, &IoJob::node>;

public:
	// ENOMEM. May sleep.
	static Result<cxxrt::Box<DiskQueue>> create(Mapping &mapping);
	DiskQueue(Mapping &mapping, cxxrt::Workqueue worker);

	// ---- I/O. Any context.

	// Between enter() and leave() the device stays open. False when it is not certain that the
	// I/O may begin: admit() says what becomes of it. Inside RCU, where the mapping was looked
	// up.
	[[nodiscard]] bool enter() { return gate_->enter_in_rcu(); }
	void leave() { gate_->leave(); }

	enum class Admission : u8 {
		Refused, // the mapping ends
		Entered, // as by enter()
		Held,	 // job() was called, and what it returned is held back, or it was null
	};
	// job() looks at the device, which is open, and does not sleep. Inside RCU, where the
	// mapping was looked up.
	template <class F> Admission admit(F &&job)
	{
		return lines_.with([&](Lines &l) {
			if (l.ending)
				return Admission::Refused;
			// Closed gates belong to those who hold back, and this lock shows both.
			if (!l.holding)
				return WARN_ON_ONCE(!gate_->enter()) ? Admission::Refused
								     : Admission::Entered;
			if (IoJob *j = job())
				l.held.push_back(*j);
			return Admission::Held;
		});
	}

	// Whether I/O has to line up behind others.
	bool lined_up() const { return READ_ONCE(lined_up_); }
	// I/O that has entered: the worker submits it in its turn.
	void line_up(IoJob &job);
	// The same when the thread's plug ends, if it has one. Process context.
	void line_up_in_batch(IoJob &job);

	// ---- both in process context, without waiting for I/O

	// What is dropped, of many mappings.
	class Dropped {
	public:
		// Only now, when the gates of all are closed: the answer of one request can let in
		// another one, which waited for its slot.
		void answer();

	private:
		friend class DiskQueue;
		JobList held_;
		JobList waiting_;
	};
	// Requests of a path that is closing are not waited for any more: collects those that have
	// not begun, and sees to it that those that come begin after those that have.
	void path_closing(Dropped &dropped);
	// Once: refuses all I/O that has not entered, and calls Mapping::idle() when the rest has
	// ended.
	void end();
	// Mapping::refuses() says more than before: I/O that has entered without looking at that is
	// under way, and Mapping::drained() will be called when it has ended. False if nothing is,
	// or if that is waited for already.
	[[nodiscard]] bool fence();

private:
	template <class T, class... Args>
	friend Result<cxxrt::Box<T>> cxxrt::make_box(gfp_t, Args &&...);

	// In the memory of its first job.
	class Collector : public cxxrt::PlugCollector<Collector> {
	public:
		explicit Collector(DiskQueue &queue) : PlugCollector(&queue), queue_(queue) {}
		void add(IoJob &job) { jobs_.push_back(job); }
		void plug_ended() { queue_.line_up(jobs_); }

	private:
		DiskQueue &queue_;
		JobList jobs_;
	};

	static void emptied(void *self);
	static void move_dead(JobList &from, JobList &dead);
	void on_emptied();
	void wake_worker();
	void line_up(JobList &jobs);
	void submit_all();
	IoJob *next();
	bool may_go_on(const IoJob &job) const;

	Mapping &mapping_;
	cxxrt::Box<cxxrt::Gate> gate_;
	// Written under the lock of lines_. While it is set the worker runs, or is about to.
	bool lined_up_ = false;
	struct Lines {
		JobList waiting; // have entered
		JobList held;	 // have not
		bool holding = false;
		bool ending = false;
	};
	cxxrt::Guarded<Lines, cxxrt::SpinLock> lines_{cxxrt::lock_class<"rnbd-server line">()};
	// Held while the gate is closed or opened.
	struct Closing {
		bool closed = false;   // until on_emptied()
		bool fenced = false;   // drained() has to be called then
		bool finished = false; // all I/O has ended, for ever
	};
	cxxrt::Guarded<Closing, cxxrt::Mutex> closing_{cxxrt::lock_class<"rnbd-server gate">()};
	cxxrt::Work<DiskQueue, &DiskQueue::on_emptied> emptied_work_{this};
	cxxrt::Work<DiskQueue, &DiskQueue::submit_all> submit_work_{this};
	// A queue of its own, of one item at a time, so that a disk that hangs takes no other's
	// place, with a thread of its own for when there is no memory for others: clients write
	// here to free theirs, and so may this machine. Destroyed first.
	cxxrt::Workqueue worker_;
};

} // namespace rnbd::server
