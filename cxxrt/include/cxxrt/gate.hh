// SPDX-License-Identifier: GPL-2.0
// Counts users of something that is out of bounds from time to time. As Inflight, enter() on the
// hot path costs a per-CPU increment; but a closed gate can be opened again, and who closes it does
// not wait: a function is called when the last user has left.
//
// Order of calls: create; enter/leave pairs; close(); emptied(), an RCU grace period later at the
// earliest; open(); and so on. Only calls of close() and open() need to be kept apart by the
// caller. It dies without users, whether it is open or not.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

class Gate {
public:
	// In any context, hard interrupts included.
	using Emptied = void (*)(void *owner);

	// Open. ENOMEM. May sleep. On the heap: the kernel's counter must not move.
	static Result<Box<Gate>> create(Emptied emptied, void *owner)
	{
		Box<Gate> gate = TRY(make_box<Gate>(GFP_KERNEL, emptied, owner));
		TRY(Status::from_code(
		    percpu_ref_init(&gate->ref_, last_left, PERCPU_REF_ALLOW_REINIT, GFP_KERNEL)));
		return gate;
	}
	Gate(Emptied emptied, void *owner) : emptied_(emptied), owner_(owner) {}
	Gate(const Gate &) = delete;
	Gate &operator=(const Gate &) = delete;
	~Gate() { percpu_ref_exit(&ref_); }

	// False while it is closed. Any context.
	[[nodiscard]] bool enter() { return percpu_ref_tryget_live(&ref_); }
	// The same inside of an RcuReader.
	[[nodiscard]] bool enter_in_rcu() { return percpu_ref_tryget_live_rcu(&ref_); }
	// Any context.
	void leave() { percpu_ref_put(&ref_); }

	// Lets nobody in: whoever calls enter() later, in the order of memory, is refused.
	void close() { percpu_ref_kill(&ref_); }
	// After emptied(). May sleep.
	void open() { percpu_ref_reinit(&ref_); }

private:
	static void last_left(percpu_ref *ref)
	{
		const Gate *self = container_of(ref, Gate, ref_);
		self->emptied_(self->owner_);
	}

	percpu_ref ref_{};
	const Emptied emptied_;
	void *const owner_;
};

} // namespace cxxrt
