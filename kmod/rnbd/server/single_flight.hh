// SPDX-License-Identifier: GPL-2.0
// Single flight: one operation at a time on a disk that may take long, without a lock.
//
//	Free ──take()──> Asking ──finish()──> Over ──give_back()──> Free
//			   ├───leave()──> Left ──finish()──> Free
//			   └───give_back()──> Free, if no work item was queued
//
// A thread that takes the flight queues a work item, which asks the disk. Then it either waits
// until the state is Over, reads the result and gives the flight back; or it leaves, since its
// client is gone or it has waited long enough, and the work item frees the flight itself. A thread
// that wants no result queues the item and has left from the beginning. Any context. What is
// written before a step is visible after the next one.
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
