// SPDX-License-Identifier: GPL-2.0
// Counts users of something that shall be closed: enter() on the hot path costs a per-CPU
// increment; close() lets nobody in any more and waits until all have left.
//
// Order of calls: create, then any number of enter/leave pairs, then close() exactly once (the
// destructor calls it if nobody did). leave() is allowed in any context.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/result.hh>
#include <cxxrt/wait.hh>

namespace cxxrt {

class Inflight {
public:
	// ENOMEM. May sleep. The gate lives on the heap: the kernel's counter must not move.
	static Result<Box<Inflight>> create()
	{
		Box<Inflight> gate = TRY(make_box<Inflight>(GFP_KERNEL));
		TRY(Status::from_code(percpu_ref_init(&gate->ref_, all_left, 0, GFP_KERNEL)));
		gate->open_ = true;
		return gate;
	}
	Inflight() = default;
	Inflight(const Inflight &) = delete;
	Inflight &operator=(const Inflight &) = delete;
	~Inflight()
	{
		close();
		percpu_ref_exit(&ref_);
	}

	// False once close() has begun. Any context.
	[[nodiscard]] bool enter() { return percpu_ref_tryget_live(&ref_); }
	void leave() { percpu_ref_put(&ref_); }

	// The first half of close(), which does not wait: so many gates can be closed in the time
	// of one. Not concurrently with close().
	void shut()
	{
		if (!exchange(open_, false))
			return;
		closing_ = true;
		percpu_ref_kill(&ref_);
	}
	// May sleep, until the last user has left. Whoever looked the gate up under RCU before the
	// call, has entered or left the reader scope when it returns.
	void close()
	{
		shut();
		if (exchange(closing_, false))
			left_.wait();
	}

private:
	static void all_left(percpu_ref *ref)
	{
		container_of(ref, Inflight, ref_)->left_.complete();
	}

	percpu_ref ref_{};
	Completion left_;
	bool open_ = false;
	bool closing_ = false;
};

} // namespace cxxrt
