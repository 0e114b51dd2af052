// SPDX-License-Identifier: GPL-2.0
// Deferred work as members of the object whose method they run.
//
// An item never runs concurrently with itself. The owner's life must cover it: the owner of a Work
// or DelayedWork calls cancel_sync() before it dies; a queued RefWork holds a reference of its
// owner until the method has returned.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/probes.h>
#include <cxxrt/result.hh>

namespace cxxrt {

namespace detail {
#if CXXRT_PROBE_wq_percpu
constexpr unsigned int kPerCpu = WQ_PERCPU;
#else
constexpr unsigned int kPerCpu = 0;
#endif
} // namespace detail

// Owns a workqueue; destruction drains it. May sleep.
class Workqueue {
public:
	constexpr Workqueue() = default;
	// `flags` as for alloc_workqueue(), and per CPU without WQ_UNBOUND; `max_active` 0 is the
	// kernel's default. ENOMEM.
	static Result<Workqueue> create(const char *name, unsigned int flags, int max_active = 0)
	{
		if (!(flags & WQ_UNBOUND))
			flags |= detail::kPerCpu;
		workqueue_struct *wq = alloc_workqueue("%s", flags, max_active, name);
		if (!wq)
			return err::enomem;
		return Workqueue(wq);
	}
	// At most one work item at a time, in queueing order.
	static Result<Workqueue> create_ordered(const char *name, unsigned int flags)
	{
		workqueue_struct *wq = alloc_ordered_workqueue("%s", flags, name);
		if (!wq)
			return err::enomem;
		return Workqueue(wq);
	}
	Workqueue(Workqueue &&o) : wq_(exchange(o.wq_, static_cast<workqueue_struct *>(nullptr))) {}
	Workqueue &operator=(Workqueue &&o)
	{
		if (this != &o) {
			reset();
			wq_ = exchange(o.wq_, static_cast<workqueue_struct *>(nullptr));
		}
		return *this;
	}
	constexpr ~Workqueue()
	{
		if (wq_)
			destroy_workqueue(wq_);
	}

	void reset()
	{
		if (workqueue_struct *wq = exchange(wq_, static_cast<workqueue_struct *>(nullptr)))
			destroy_workqueue(wq);
	}
	void flush() const { flush_workqueue(wq_); }
	workqueue_struct *get() const { return wq_; }
	explicit operator bool() const { return wq_ != nullptr; }

private:
	explicit Workqueue(workqueue_struct *wq) : wq_(wq) {}

	workqueue_struct *wq_ = nullptr;
};

namespace {
// In an anonymous namespace for the lock class that lockdep keeps as static data of each. `Item`
// is the type of the item, so that each kind of work has a class of its own: one may wait for
// another.
template <class Item> void init_work(work_struct *work, work_func_t run)
{
	INIT_WORK(work, run);
}

template <class Item> void init_delayed_work(delayed_work *work, work_func_t run)
{
	INIT_DELAYED_WORK(work, run);
}
} // namespace

template <class T, void (T::*kMethod)()> class Work {
public:
	explicit Work(T *owner) : owner_(owner) { init_work<Work>(&work_, run); }
	Work(const Work &) = delete;
	Work &operator=(const Work &) = delete;

	// Any context. False: it was queued already (and will run once for both).
	bool queue(const Workqueue &wq) { return queue_work(wq.get(), &work_); }
	// After this it neither runs nor is queued. May sleep.
	bool cancel_sync() { return cancel_work_sync(&work_); }
	void flush() { flush_work(&work_); }

private:
	static void run(work_struct *work)
	{
		Work *self = container_of(work, Work, work_);
		(self->owner_->*kMethod)();
	}

	work_struct work_;
	T *owner_;
};

// Work whose method ends with the drop of the reference that queue_ref() took.
template <class T, void (T::*kMethod)()> class RefWork {
public:
	explicit RefWork(T *owner) : owner_(owner) { init_work<RefWork>(&work_, run); }
	RefWork(const RefWork &) = delete;
	RefWork &operator=(const RefWork &) = delete;

	// Any context. Takes a reference of the owner for the run; none if it was queued already.
	bool queue(const Workqueue &wq)
	{
		owner_->get();
		if (queue_work(wq.get(), &work_))
			return true;
		owner_->put();
		return false;
	}

private:
	static void run(work_struct *work)
	{
		RefWork *self = container_of(work, RefWork, work_);
		T *owner = self->owner_;
		(owner->*kMethod)();
		owner->put();
	}

	work_struct work_;
	T *owner_;
};

template <class T, void (T::*kMethod)()> class DelayedWork {
public:
	explicit DelayedWork(T *owner) : owner_(owner)
	{
		init_delayed_work<DelayedWork>(&work_, run);
	}
	DelayedWork(const DelayedWork &) = delete;
	DelayedWork &operator=(const DelayedWork &) = delete;

	// Any context. Runs after `delay` jiffies; no effect if it is pending already.
	bool queue_after(const Workqueue &wq, unsigned long delay)
	{
		return queue_delayed_work(wq.get(), &work_, delay);
	}
	// Any context. As queue_after(), but moves a pending run to the new time.
	void requeue_after(const Workqueue &wq, unsigned long delay)
	{
		mod_delayed_work(wq.get(), &work_, delay);
	}
	bool cancel_sync() { return cancel_delayed_work_sync(&work_); }

private:
	static void run(work_struct *work)
	{
		DelayedWork *self = container_of(to_delayed_work(work), DelayedWork, work_);
		(self->owner_->*kMethod)();
	}

	delayed_work work_;
	T *owner_;
};

} // namespace cxxrt
