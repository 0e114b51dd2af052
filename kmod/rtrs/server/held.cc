// SPDX-License-Identifier: GPL-2.0
// Slots that wait for their turn (rtrs/pure/registration_gate.hh), on devices that execute local
// work twice and make an invalidation wait until all before it is acknowledged; only if each
// request gives its chunk a new key. Requests that were held go as one chain, and answers as
// another, with all registrations behind one guard:
//
//	LOCAL_INV 1 → ... → LOCAL_INV n, the only one with a completion
//	[LOCAL_INV → REG_MR 1] → REG_MR 2 → ... → rest of answer 1 → rest of answer 2 → ...
//
// A slot that is held is its request's, as while it waits for room.
#include <rtrs/server/connection.hh>

#include <cxxrt/rcu.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>

using namespace cxxrt;

namespace rtrs::server {

using Step = RequestSlot::Step;

namespace {

constexpr Step kSteps[] = {Step::Invalidate, Step::Answer};

} // namespace

// Under RcuReader, and the path may post.
GatePass ServerConnection::pass_gate(RequestSlot &slot)
{
	return gate_.with([&](Gate &g) {
		const GatePass pass = g.state.pass();
		if (pass == GatePass::Hold)
			(slot.step() == Step::Answer ? g.answers : g.arrivals).push_back(slot);
		return pass;
	});
}

// Moves slots to the batch; how many.
u32 ServerConnection::take_held(Step step)
{
	return gate_.with([&](Gate &g) {
		PendingList &held = step == Step::Answer ? g.answers : g.arrivals;
		u32 n = 0;
		while (n < batch_.size() && (batch_[n].slot = held.pop_front()))
			n++;
		return n;
	});
}

void ServerConnection::hold_again(u32 count)
{
	gate_.with([&](Gate &g) {
		for (u32 i = count; i--;) {
			RequestSlot &slot = *batch_[i].slot;
			(slot.step() == Step::Answer ? g.answers : g.arrivals).push_front(slot);
		}
	});
}

// In a handler of this connection, so nobody else is here. What finds no room goes back: there is
// another completion, whose handler tries again, or drop_pending(), which comes after all handlers.
void ServerConnection::post_held()
{
	gate_.with([](Gate &g) { g.state.completed(!g.arrivals.empty() || !g.answers.empty()); });
	for (const Step step : kSteps) {
		const u32 count = take_held(step);
		if (!count)
			continue;
		const Status s =
		    step == Step::Answer ? post_answers(count) : post_invalidations(count);
		if (!s.ok() && s.error() == err::eagain) {
			hold_again(count);
			return;
		}
		for (u32 i = 0; i < count; i++)
			settle(*batch_[i].slot, step, s);
	}
}

Status ServerConnection::post_invalidations(u32 count)
{
	Chain chain;
	for (u32 i = 0; i < count; i++) {
		batch_[i].slot->fill_invalidation(batch_[i].wrs.invalidation);
		chain.append(batch_[i].wrs.invalidation);
	}
	chain.cost.invalidations = count;
	const RcuReader posting;
	if (!path_.may_post())
		return err::econnaborted;
	TRY(post_send(chain.first(), chain.last(), chain.cost, Signal::Always));
	for (u32 i = 0; i < count; i++)
		invalidating_.push_back(*batch_[i].slot);
	return {};
}

Status ServerConnection::post_answers(u32 count)
{
	Chain chain;
	for (u32 i = 0; i < count; i++) {
		batch_[i].slot->fill_answer(batch_[i].wrs, i != 0);
		batch_[i].wrs.append_registration(chain);
	}
	for (u32 i = 0; i < count; i++)
		batch_[i].wrs.append_rest(chain);
	chain.last()->wr_cqe = &answers_.cqe;
	const RcuReader posting;
	if (!path_.may_post())
		return err::econnaborted;
	TRY(post_send(chain.first(), chain.last(), chain.cost, Signal::Always));
	unacknowledged_++;
	for (u32 i = 0; i < count; i++)
		batch_[i].slot->trace_answer(batch_[i].wrs, chain.cost);
	return {};
}

void ServerConnection::answers_sent(ib_cq *cq, ib_wc *wc)
{
	of(wc).unacknowledged_--;
	sent(cq, wc);
}

// Of a batch, in which one that was posted by itself is not, those before `slot` have been executed
// without a word. If it failed, they may have been flushed like it or not: the path ends.
void ServerConnection::on_invalidated(RequestSlot &slot, bool ok)
{
	if (slot.pending.linked()) {
		for (;;) {
			RequestSlot *first = invalidating_.pop_front();
			if (first == &slot)
				break;
			ok ? first->run() : first->dropped();
		}
	}
	ok ? slot.run() : slot.dropped();
}

void ServerConnection::drop_held()
{
	for (const Step step : kSteps)
		while (u32 count = take_held(step))
			while (count--)
				batch_[count].slot->dropped();
}

} // namespace rtrs::server
