// SPDX-License-Identifier: GPL-2.0
// As Inflight, for a gate whose closing nobody waits for: the last one to leave says so.
//
// Order of calls: create, then any number of enter/leave pairs, then shut() at most once. leave()
// is allowed in any context. It ends when it was shut and has told so, or when nobody ever entered.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

class InflightEvent {
public:
	// ENOMEM. May sleep. The gate lives on the heap: the kernel's counter must not move.
	static Result<Box<InflightEvent>> create()
	{
		Box<InflightEvent> gate = TRY(make_box<InflightEvent>(GFP_KERNEL));
		TRY(Status::from_code(percpu_ref_init(&gate->ref_, last_left, 0, GFP_KERNEL)));
		return gate;
	}
	InflightEvent() = default;
	InflightEvent(const InflightEvent &) = delete;
	InflightEvent &operator=(const InflightEvent &) = delete;
	~InflightEvent() { percpu_ref_exit(&ref_); }

	// So many at once, at least one. False once shut() has begun: then nobody has. Any context.
	[[nodiscard]] bool enter(unsigned long count = 1)
	{
		if (!percpu_ref_tryget_live(&ref_))
			return false;
		if (count > 1)
			percpu_ref_get_many(&ref_, count - 1);
		return true;
	}
	// So many of those who have entered. It is the last access of theirs.
	void leave(unsigned long count = 1) { percpu_ref_put_many(&ref_, count); }

	// Lets nobody in any more. When the last one has left, left(context) is called, once and in
	// any context; nothing here is touched afterwards, so it may see to the end of the gate.
	// Does not wait.
	void shut(void (*left)(void *context), void *context)
	{
		left_ = left;
		context_ = context;
		percpu_ref_kill(&ref_);
	}

private:
	static void last_left(percpu_ref *ref)
	{
		InflightEvent *self = container_of(ref, InflightEvent, ref_);
		self->left_(self->context_);
	}

	percpu_ref ref_{};
	void (*left_)(void *) = nullptr;
	void *context_ = nullptr;
};

} // namespace cxxrt
