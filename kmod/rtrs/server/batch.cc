// SPDX-License-Identifier: GPL-2.0
// Slots that are collected: they wait to be posted in company, for the end of the batch of
// completions in whose handling they came up; an answer of a user who answers at once, or the
// invalidation before a request. Requests go as one chain, of which the last has a completion, and
// answers as another, with all registrations first. A slot that waits is its request's, as while it
// waits for room.
//
// A batch: the block layer is plugged; handlers run, in one thread, which is the collector; the
// plug is finished, and what ends by that is collected too; nothing is collected any more; what was
// is posted. The user's handlers do not sleep for a disk that has no room; when the thread goes to
// sleep all the same, for memory, or in a driver that does, the batch ends for those who were
// collected before. An answer from elsewhere, also from an interrupt on top of the collector, does
// not wait for the batch. A batch of one completion is none, and costs nothing.
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
