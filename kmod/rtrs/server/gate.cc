// SPDX-License-Identifier: GPL-2.0
#include <rtrs/server/gate.hh>

#include <rtrs/server/connection.hh>

using namespace cxxrt;

namespace rtrs::server {

using Step = RequestSlot::Step;

GatePass ServerGate::let_slot_in(RequestSlot &slot)
{
	return gated_.with([&](Gated &g) {
		const GatePass pass = g.state.pass();
		if (pass == GatePass::Hold)
			g.slots[index(slot.step())].push_back(slot);
		return pass;
	});
}

void ServerGate::gate_collected(Step step)
{
	const u32 count = con_.take_collected(step);
	gated_.with([&](Gated &g) { gate(g, step, count); });
	overflown_[index(step)] = true;
}

void ServerGate::gate(Gated &g, Step step, u32 count)
{
	for (u32 i = 0; i < count; i++)
		g.slots[index(step)].push_back(*con_.chain_slot(step, i));
}

void ServerGate::end_batch(bool sent)
{
	post_gated(sent && may_open());
}

void ServerGate::open_by_completion()
{
	if (may_open())
		post_gated(true);
}

// `opened`: a send has completed, and those who wait are let in.
void ServerGate::post_gated(bool opened)
{
	const bool collected =
	    con_.has_collected(Step::Invalidate) || con_.has_collected(Step::Answer);
	if (opened) {
		// As most at depth 1: nobody is there, so nobody has overflown either.
		const bool any = gated_.with([&](Gated &g) {
			const bool held = collected || !g.slots[0].empty() || !g.slots[1].empty();
			g.state.completed(held);
			return held;
		});
		if (!any)
			return;
	}
	for (const Step step : kSteps)
		if (exchange(overflown_[index(step)], false) || con_.has_collected(step) || opened)
			post_gated(step, opened);
}

// Who finds no room goes back: there is another completion, whose handler tries again, or
// drop_gated(), which comes after all handlers.
void ServerGate::post_gated(Step step, bool opened)
{
	u32 count;
	do {
		Signal signal;
		count = take_gated(step, opened, signal);
		opened = false;
		if (!count)
			return;
		if (ServerConnection::full(post_chain(step, count, signal))) {
			put_back(step, count);
			return;
		}
	} while (count == con_.chain_room());
}

// Moves slots to the chain, if it is their turn; how many are in it. Those who were collected are
// there already: they stay, if nobody waits before them.
u32 ServerGate::take_gated(Step step, bool opened, Signal &signal)
{
	const u32 collected = con_.take_collected(step);
	return gated_.with([&](Gated &g) {
		auto &waiting = g.slots[index(step)];
		if (!collected && waiting.empty())
			return 0U;
		const GatePass pass = opened ? GatePass::PostSignaled : g.state.pass();
		signal = pass == GatePass::PostSignaled ? Signal::Always : Signal::WhenDue;
		if (pass != GatePass::Hold && waiting.empty()) [[likely]]
			return collected;
		gate(g, step, collected);
		if (pass == GatePass::Hold)
			return 0U;
		u32 n = 0;
		while (n < con_.chain_room() && (con_.chain_slot(step, n) = waiting.pop_front()))
			n++;
		return n;
	});
}

// Those of the handlers, which come here.
Status ServerGate::post_chain(Step step, u32 count, Signal signal)
{
	const bool awaited = step == Step::Answer && signal == Signal::Always;
	const Status s =
	    con_.post_chain(step, count, signal, awaited ? &answers_.cqe : con_.send_cqe());
	if (s.ok())
		unacknowledged_ += awaited;
	return s;
}

void ServerGate::put_back(Step step, u32 count)
{
	gated_.with([&](Gated &g) {
		for (u32 i = count; i--;)
			g.slots[index(step)].push_front(*con_.chain_slot(step, i));
	});
}

void ServerGate::answers_sent(ib_cq *, ib_wc *wc)
{
	ServerGate &gate = *container_of(wc->wr_cqe, AnswersCqe, cqe)->gate;
	gate.unacknowledged_--;
	gate.con_.on_sent(*wc);
}

void ServerGate::drop_gated()
{
	for (const Step step : kSteps)
		while (RequestSlot *slot =
			   gated_.with([&](Gated &g) { return g.slots[index(step)].pop_front(); }))
			slot->dropped();
}

} // namespace rtrs::server
