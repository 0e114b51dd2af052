// SPDX-License-Identifier: GPL-2.0
// Slots that wait to be posted in company. Either for the end of the batch of completions in whose
// handling they came up: an answer of a user who answers at once, or the invalidation before a
// request. Or for their turn (rtrs/pure/registration_gate.hh), on devices that execute local work
// twice and make an invalidation wait until all before it is acknowledged; only if each request
// gives its chunk a new key. Requests that waited go as one chain, and answers as another, with all
// registrations behind one guard where there is one:
//
//	LOCAL_INV 1 → ... → LOCAL_INV n, the only one with a completion
//	[LOCAL_INV → REG_MR 1] → REG_MR 2 → ... → rest of answer 1 → rest of answer 2 → ...
//
// A slot that is held is its request's, as while it waits for room.
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

namespace {

constexpr Step kSteps[] = {Step::Invalidate, Step::Answer};

} // namespace

// ---- batches of completions; all in handlers of this connection, so nobody else is here ----

void ServerConnection::going_to_sleep(void *con)
{
	static_cast<ServerConnection *>(con)->end_batch();
}

// Collecting ends first: who comes later is not forgotten.
void ServerConnection::end_batch()
{
	WRITE_ONCE(collector_, static_cast<task_struct *>(nullptr));
	const bool sent = exchange(sent_, false);
	if (sent)
		post_pending();
	if (gated_) {
		post_held(sent && may_acknowledge());
		return;
	}
	for (const Step step : kSteps)
		post_collected(step);
}

// Without a gate. Who finds no room goes by himself, and waits for room by himself, like anybody
// else.
void ServerConnection::post_collected(Step step)
{
	const u32 count = exchange(collected_[index(step)], 0U);
	if (!count || post_chain(step, count, Signal::WhenDue)) [[likely]]
		return;
	for (u32 i = 0; i < count; i++)
		post_now(*chain_[i].slots[index(step)], false);
}

// ---- who is held ----

// Under RcuReader, and the path may post.
GatePass ServerConnection::pass_gate(RequestSlot &slot)
{
	return held_.with([&](Held &h) {
		const GatePass pass = h.gate.pass();
		if (pass == GatePass::Hold)
			h.of(slot.step()).push_back(slot);
		return pass;
	});
}

void ServerConnection::make_room(Step step)
{
	gated_ ? hold_collected(step) : post_collected(step);
}

// With a gate, of a batch that is longer than a chain: behind those who wait for their turn
// already.
void ServerConnection::hold_collected(Step step)
{
	const u32 count = exchange(collected_[index(step)], 0U);
	held_.with([&](Held &h) { hold(h, step, count); });
	lined_up_[index(step)] = true;
}

void ServerConnection::hold(Held &h, Step step, u32 count)
{
	for (u32 i = 0; i < count; i++)
		h.of(step).push_back(*chain_[i].slots[index(step)]);
}

// Moves slots to the chain, if it is their turn; how many are in it. Those who were collected are
// there already: they stay, if nobody waits before them.
u32 ServerConnection::take_held(Step step, bool acknowledged, Signal &signal)
{
	const u32 collected = exchange(collected_[index(step)], 0U);
	return held_.with([&](Held &h) {
		PendingQueue &held = h.of(step);
		if (!collected && held.empty())
			return 0U;
		const GatePass pass = acknowledged ? GatePass::PostSignaled : h.gate.pass();
		signal = pass == GatePass::PostSignaled ? Signal::Always : Signal::WhenDue;
		if (pass != GatePass::Hold && held.empty()) [[likely]]
			return collected;
		hold(h, step, collected);
		if (pass == GatePass::Hold)
			return 0U;
		u32 n = 0;
		while (n < chain_.size() && (chain_[n].slots[index(step)] = held.pop_front()))
			n++;
		return n;
	});
}

void ServerConnection::hold_again(Step step, u32 count)
{
	held_.with([&](Held &h) {
		for (u32 i = count; i--;)
			h.of(step).push_front(*chain_[i].slots[index(step)]);
	});
}

// In a handler of this connection, or at the end of a batch. `acknowledged`: a send has completed,
// and those who wait for the gate are let in.
void ServerConnection::post_held(bool acknowledged)
{
	const bool collected = collected_[0] || collected_[1];
	if (acknowledged)
		held_.with([&](Held &h) {
			h.gate.completed(collected || !h.arrivals.empty() || !h.answers.empty());
		});
	for (const Step step : kSteps)
		if (exchange(lined_up_[index(step)], false) || collected_[index(step)] ||
		    acknowledged)
			post_held(step, acknowledged);
}

// Who finds no room goes back: there is another completion, whose handler tries again, or
// drop_pending(), which comes after all handlers.
void ServerConnection::post_held(Step step, bool acknowledged)
{
	u32 count;
	do {
		Signal signal;
		count = take_held(step, acknowledged, signal);
		acknowledged = false;
		if (!count)
			return;
		if (!post_chain(step, count, signal)) {
			hold_again(step, count);
			return;
		}
	} while (count == chain_.size());
}

// What is in the chain; false if there is no room for it.
bool ServerConnection::post_chain(Step step, u32 count, Signal signal)
{
	const RcuReader posting;
	if (!path_.may_post()) [[unlikely]] {
		for (u32 i = 0; i < count; i++)
			chain_[i].slots[index(step)]->dropped();
		return true;
	}
	return !full(step == Step::Answer ? post_answers(count, signal)
					  : post_invalidations(count));
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
	return {};
}

void ServerConnection::answers_sent(ib_cq *cq, ib_wc *wc)
{
	of(wc).unacknowledged_--;
	sent(cq, wc);
}

// After all handlers.
void ServerConnection::drop_held()
{
	while (RequestSlot *slot = invalidating_.pop_front())
		slot->dropped();
	for (const Step step : kSteps)
		while (RequestSlot *slot =
			   held_.with([&](Held &h) { return h.of(step).pop_front(); }))
			slot->dropped();
}

} // namespace rtrs::server
