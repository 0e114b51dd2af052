// SPDX-License-Identifier: GPL-2.0
// Waiting: a queue with a condition, and a one-shot completion. All waits may sleep; all wakes are
// allowed in any context.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

class WaitQueue {
public:
	explicit WaitQueue(LockClass c) { __init_waitqueue_head(&head_, c.name, c.key); }
	WaitQueue(const WaitQueue &) = delete;
	WaitQueue &operator=(const WaitQueue &) = delete;

	void wake_all() { wake_up_all(&head_); }

	// Until condition() is true. Uninterruptible: only for conditions that are certain to come.
	template <class F> void wait(F &&condition) { wait_event(head_, condition()); }

	// The same for a thread of the kernel that may wait for hours: it does not count as stuck.
	template <class F> void wait_idle(F &&condition) { wait_event_idle(head_, condition()); }

	// Until condition() is true, or ETIMEDOUT after `timeout` jiffies.
	template <class F> Status wait_for(unsigned long timeout, F &&condition)
	{
		if (!wait_event_timeout(head_, condition(), timeout))
			return err::etimedout;
		return {};
	}

	// As wait(), ended by a fatal signal with EINTR.
	template <class F> Status wait_killable(F &&condition)
	{
		if (wait_event_killable(head_, condition()))
			return err::eintr;
		return {};
	}
	// As wait_killable(), or ETIMEDOUT after `timeout` jiffies.
	template <class F> Status wait_killable_for(unsigned long timeout, F &&condition)
	{
		const long left = wait_event_killable_timeout(head_, condition(), timeout);
		if (left > 0)
			return {};
		return left ? err::eintr : err::etimedout;
	}

private:
	wait_queue_head_t head_;
};

class Completion {
public:
	Completion() { init_completion(&completion_); }
	Completion(const Completion &) = delete;
	Completion &operator=(const Completion &) = delete;

	void complete() { ::complete_all(&completion_); }
	bool done() { return completion_done(&completion_); }
	// For a new event. Nobody waits, and nobody completes it, meanwhile.
	void reset() { reinit_completion(&completion_); }
	void wait() { wait_for_completion(&completion_); }
	Status wait_for(unsigned long timeout)
	{
		if (!wait_for_completion_timeout(&completion_, timeout))
			return err::etimedout;
		return {};
	}
	// Ended by a fatal signal with EINTR.
	Status wait_killable()
	{
		if (wait_for_completion_killable(&completion_))
			return err::eintr;
		return {};
	}
	// As wait_killable(), or ETIMEDOUT after `timeout` jiffies.
	Status wait_killable_for(unsigned long timeout)
	{
		const long left = wait_for_completion_killable_timeout(&completion_, timeout);
		if (left > 0)
			return {};
		return left ? err::eintr : err::etimedout;
	}

private:
	completion completion_;
};

} // namespace cxxrt
