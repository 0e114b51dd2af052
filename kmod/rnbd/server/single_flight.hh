// SPDX-License-Identifier: GPL-2.0
// Whose turn it is with a disk that takes its time.
//
//	Free ──take()──> Asking ──finish()──> Over ──give_back()──> Free
//			   ├───leave()──> Left ──finish()──> Free
//			   └───give_back()──> Free, if no work item was queued
//
// Who takes it has a work item ask the disk, and either waits until that is over, looks, and gives
// it back; or leaves, and then it ends with the item. Any context; what is written before a step is
// seen after the next one.
#pragma once

#include <cxxrt/kernel.hh>

namespace rnbd::server {

class SingleFlight {
public:
	[[nodiscard]] bool take() { return step(State::Free, State::Asking); }
	// By who took it, without a work item, or when it is over.
	void give_back() { atomic_set_release(&state_, static_cast<int>(State::Free)); }
	// By the work item, as the last that it does with what belongs to the turn.
	void finish()
	{
		if (!step(State::Asking, State::Over))
			give_back();
	}
	bool is_over() const
	{
		return atomic_read_acquire(&state_) == static_cast<int>(State::Over);
	}
	// By who waits. False: it is over, and the answer is seen, which an exchange that fails
	// does not promise.
	[[nodiscard]] bool leave()
	{
		return step(State::Asking, State::Left) || WARN_ON_ONCE(!is_over());
	}

private:
	enum class State : int { Free, Asking, Over, Left };

	bool step(State from, State to)
	{
		const int f = static_cast<int>(from);
		return atomic_cmpxchg(&state_, f, static_cast<int>(to)) == f;
	}

	atomic_t state_ = ATOMIC_INIT(0);
};

} // namespace rnbd::server
