// SPDX-License-Identifier: GPL-2.0
// What a work request names as its completion handler: a method of an object (protocol G.1-12:
// every work request has one, for unsignaled ones complete too when they are flushed).
//
// The entry lives as long as a work request with it may be outstanding. Handlers run in softirq,
// or where the queue is polled; those of one connection never run at the same time.
#pragma once

#include <cxxrt/kernel.hh>

namespace rtrs::client {

template <class T, void (T::*kDone)(const ib_wc &)> class CompletionEntry {
public:
	explicit CompletionEntry(T *owner) : owner_(owner) { cqe_.done = done; }
	CompletionEntry(const CompletionEntry &) = delete;
	CompletionEntry &operator=(const CompletionEntry &) = delete;

	ib_cqe *get() { return &cqe_; }
	// Whether a work request names an entry of this kind, and whose it is then.
	static bool is(const ib_cqe *cqe) { return cqe && cqe->done == done; }
	static T &owner(ib_cqe *cqe) { return *container_of(cqe, CompletionEntry, cqe_)->owner_; }

private:
	static void done(ib_cq *, ib_wc *wc)
	{
		CompletionEntry *self = container_of(wc->wr_cqe, CompletionEntry, cqe_);
		(self->owner_->*kDone)(*wc);
	}

	ib_cqe cqe_{};
	T *owner_;
};

} // namespace rtrs::client
