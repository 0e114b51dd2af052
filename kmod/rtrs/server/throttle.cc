// SPDX-License-Identifier: GPL-2.0
#include <rtrs/server/throttle.hh>

#include <rtrs/server/connection.hh>

using namespace cxxrt;

namespace rtrs::server {

using Step = RequestSlot::Step;

ThrottlePass ServerThrottle::pass_slot(RequestSlot &slot)
{
	return throttled_.with([&](Throttled &g) {
		const ThrottlePass pass = g.state.pass();
		if (pass == ThrottlePass::Hold)
			g.slots[index(slot.step())].push_back(slot);
		return pass;
	});
}

void ServerThrottle::throttle_collected(Step step)
{
	const u32 count = con_.take_collected(step);
	throttled_.with([&](Throttled &g) { throttle(g, step, count); });
	overflown_[index(step)] = true;
}

void ServerThrottle::throttle(Throttled &g, Step step, u32 count)
{
	for (u32 i = 0; i < count; i++)
		g.slots[index(step)].push_back(*con_.chain_slot(step, i));
}

void ServerThrottle::end_batch(bool sent)
{
	post_throttled(sent && may_open());
}

void ServerThrottle::open_by_completion()
{
	if (may_open())
		post_throttled(true);
}

// `opened`: a send has completed, and the slots that wait pass.
void ServerThrottle::post_throttled(bool opened)
{
	const bool collected =
	    con_.has_collected(Step::Invalidate) || con_.has_collected(Step::Answer);
	if (opened) {
		// As most at depth 1: nobody is there, so nobody has overflown either.
		const bool any = throttled_.with([&](Throttled &g) {
			const bool held = collected || !g.slots[0].empty() || !g.slots[1].empty();
			g.state.completed(held);
			return held;
		});
		if (!any)
			return;
	}
	for (const Step step : kSteps)
		if (exchange(overflown_[index(step)], false) || con_.has_collected(step) || opened)
			post_throttled(step, opened);
}

// A slot that finds no room goes back to the throttle: there is another completion, whose handler
// tries again, or drop_throttled(), which comes after all handlers.
void ServerThrottle::post_throttled(Step step, bool opened)
{
	u32 count;
	do {
		Signal signal;
		count = take_throttled(step, opened, signal);
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
u32 ServerThrottle::take_throttled(Step step, bool opened, Signal &signal)
{
	const u32 collected = con_.take_collected(step);
	return throttled_.with([&](Throttled &g) {
		auto &waiting = g.slots[index(step)];
		if (!collected && waiting.empty())
			return 0U;
		const ThrottlePass pass = opened ? ThrottlePass::PostSignaled : g.state.pass();
		signal = pass == ThrottlePass::PostSignaled ? Signal::Always : Signal::WhenDue;
		if (pass != ThrottlePass::Hold && waiting.empty()) [[likely]]
			return collected;
		throttle(g, step, collected);
		if (pass == ThrottlePass::Hold)
			return 0U;
		u32 n = 0;
		while (n < con_.chain_room() && (con_.chain_slot(step, n) = waiting.pop_front()))
			n++;
		return n;
	});
}

// Those of the handlers, which come here.
Status ServerThrottle::post_chain(Step step, u32 count, Signal signal)
{
	const bool awaited = step == Step::Answer && signal == Signal::Always;
	const Status s =
	    con_.post_chain(step, count, signal, awaited ? &answers_.cqe : con_.send_cqe());
	if (s.ok())
		unacknowledged_ += awaited;
	return s;
}

void ServerThrottle::put_back(Step step, u32 count)
{
	throttled_.with([&](Throttled &g) {
		for (u32 i = count; i--;)
			g.slots[index(step)].push_front(*con_.chain_slot(step, i));
	});
}

void ServerThrottle::answers_sent(ib_cq *, ib_wc *wc)
{
	ServerThrottle &throttle = *container_of(wc->wr_cqe, AnswersCqe, cqe)->throttle;
	throttle.unacknowledged_--;
	throttle.con_.on_sent(*wc);
}

void ServerThrottle::drop_throttled()
{
	for (const Step step : kSteps)
		while (RequestSlot *slot = throttled_.with(
			   [&](Throttled &g) { return g.slots[index(step)].pop_front(); }))
			slot->dropped();
}

} // namespace rtrs::server
