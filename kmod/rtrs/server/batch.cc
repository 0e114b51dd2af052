// SPDX-License-Identifier: GPL-2.0
// A batch: the slots that one poll of the completion queue brought up, posted together. A slot is
// collected for one of two steps: the invalidation before its request, or its answer, where the
// user answers at once. At the end of the batch the invalidations are posted as one chain, whose
// last work request has a completion, and the answers as another, registrations first. A collected
// slot belongs to its request, like one that waits for room.
//
// Order: the block layer is plugged; the completion handlers run in one thread, the collector; the
// plug is finished, and the answers that this brings are collected as well; collecting ends; the
// chains are posted.
//
// The collector does not sleep for a disk that has no room. Where it sleeps all the same (for
// memory, or in a driver), the batch ends before, so that no collected slot waits for the sleep.
// An answer that comes from another thread, or from an interrupt of the collector, is posted at
// once. A batch of one completion collects nothing.
#include <rtrs/server/connection.hh>

#include <cxxrt/rcu.hh>
#include <rtrs/server/arrival.hh>

using namespace cxxrt;

namespace rtrs::server {

using Step = RequestSlot::Step;

// ---- batches of completions; all in handlers of this connection, so nobody else is here ----

void ServerConnection::going_to_sleep(void *con)
{
	static_cast<ServerConnection *>(con)->end_batch();
}

// Collecting ends first: who comes later is not forgotten.
void ServerConnection::end_batch()
{
	WRITE_ONCE(collector_, static_cast<task_struct *>(nullptr));
	if (due_) [[unlikely]] {
		see_to_due();
		return;
	}
	for (const Step step : kSteps)
		post_batched(step);
}

// The end of a batch that has more to see to, or of any where there is a throttle.
noinline void ServerConnection::see_to_due()
{
	const bool sent = due_ & kSent;
	due_ = due_ & ~kSent;
	if (sent && (READ_ONCE(expecting_) & kPending))
		post_pending();
	if (throttle_) {
		throttle_->end_batch(sent);
		return;
	}
	for (const Step step : kSteps)
		post_batched(step);
}

// Without a throttle. Who finds no room goes by himself, and waits for room by himself, like
// anybody else.
void ServerConnection::post_batched(Step step)
{
	const u32 count = take_collected(step);
	if (!count || !full(post_chain(step, count, Signal::WhenDue, send_cqe()))) [[likely]]
		return;
	for (u32 i = 0; i < count; i++)
		post_now(*chain_slot(step, i));
}

// There are as many as go in a chain.
void ServerConnection::make_room(Step step)
{
	throttle_ ? throttle_->throttle_collected(step) : post_batched(step);
}

// ---- chains ----

Status ServerConnection::post_chain(Step step, u32 count, Signal signal, ib_cqe *completes)
{
	const RcuReader posting;
	if (!path_.may_post()) [[unlikely]] {
		for (u32 i = 0; i < count; i++)
			chain_slot(step, i)->dropped();
		return err::enotconn;
	}
	return step == Step::Answer ? post_answers(count, signal, completes)
				    : post_invalidations(count);
}

// Under RcuReader, and the path may post. EAGAIN if there is no room; other errors have been seen
// to.
Status ServerConnection::post_invalidations(u32 count)
{
	Links chain;
	for (u32 i = 0; i < count; i++) {
		chain_[i].slots[index(Step::Invalidate)]->set_invalidation(chain_[i].invalidation);
		chain.append(chain_[i].invalidation);
	}
	const Status s =
	    post_send(chain.close(), chain.last(), {.work_requests = count, .invalidations = count},
		      Signal::Always);
	chain.last()->send_flags = 0; // as the next one wants it
	if (full(s))
		return s;
	for (u32 i = 0; i < count; i++)
		invalidating_.push_back(*chain_[i].slots[index(Step::Invalidate)]);
	// The device may have taken some of them, which then complete, like those of a chain whose
	// queue pair breaks. Who is left over is dropped with those who wait.
	if (!s.ok())
		path_.refuse(Refusal::CompletionError, "a work request could not be posted");
	return s;
}

// After all handlers.
void ServerConnection::drop_invalidating()
{
	while (RequestSlot *slot = invalidating_.pop_front())
		slot->dropped();
}

} // namespace rtrs::server
