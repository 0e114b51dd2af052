// SPDX-License-Identifier: GPL-2.0
// Kernel threads that run a piece of a case side by side.
#pragma once

#include <cxxrt/memory.hh>
#include <cxxrt/wait.hh>

#include "case.hh"

namespace kunit_testing {

// Long enough for everything that is certain to happen, and shorter than KUnit's own limit.
constexpr unsigned long kLong = 20 * HZ;

// Lets other threads run. On a kernel that does not preempt, or with one CPU, threads change places
// only here: a case puts it where another thread would do harm.
inline void breathe()
{
	yield();
}

// Runs a callable in a thread of its own. Destruction waits for its end.
template <class F> class Thread {
public:
	explicit Thread(F body) : body_(body) {}
	Thread(const Thread &) = delete;
	Thread &operator=(const Thread &) = delete;
	~Thread()
	{
		if (!task_)
			return;
		done_.wait();
		// The task's code is gone when this returns, whatever becomes of the module.
		kthread_stop(task_);
	}

	// False without memory. On a CPU of its own, as far as there are enough.
	bool start(unsigned int index)
	{
		task_struct *task = kthread_create(run, this, "kunit/%u", index);
		if (IS_ERR(task))
			return false;
		kthread_bind(task, cpumask_nth(index % num_online_cpus(), cpu_online_mask));
		task_ = task;
		wake_up_process(task);
		return true;
	}
	bool done() { return done_.done(); }
	cxxrt::Status wait_done() { return done_.wait_for(kLong); }
	task_struct *task() const { return task_; }

private:
	static int run(void *data)
	{
		auto *self = static_cast<Thread *>(data);
		self->body_();
		self->done_.complete();
		for (;;) {
			set_current_state(TASK_INTERRUPTIBLE);
			if (kthread_should_stop())
				break;
			schedule();
		}
		__set_current_state(TASK_RUNNING);
		return 0;
	}

	F body_;
	task_struct *task_ = nullptr;
	cxxrt::Completion done_;
};

// body(0) to body(N - 1), each in a thread, all at once; returns when all have returned. False if
// they could not be started: then none has run.
template <unsigned int N, class F> bool side_by_side(F &&body)
{
	struct Member {
		F *body;
		unsigned int index;
		cxxrt::Completion *go;
		const bool *run;
		void operator()()
		{
			go->wait();
			if (*run)
				(*body)(index);
		}
	};
	cxxrt::Completion go;
	bool run = true;
	cxxrt::Box<Thread<Member>> threads[N];
	for (unsigned int i = 0; i < N && run; i++) {
		auto made =
		    cxxrt::make_box<Thread<Member>>(GFP_KERNEL, Member{&body, i, &go, &run});
		run = made.ok();
		if (!run)
			break;
		threads[i] = made.take();
		run = threads[i]->start(i);
	}
	go.complete();
	for (auto &thread : threads)
		thread.reset();
	return run;
}

} // namespace kunit_testing
