// SPDX-License-Identifier: GPL-2.0
// Send-queue accounting and slot states against models. Input: capacity, interval, chain, then one
// byte per event.
#include "fuzz.hh"

#include <rtrs/pure/sq_accounting.hh>
#include <rtrs/pure/slot_state.hh>

#include <deque>

using namespace rtrs;

namespace {

void accounting(Input input)
{
	const std::uint32_t chain = 1 + input.take<std::uint8_t>() % 8;
	const std::uint32_t capacity = chain + input.take<std::uint8_t>();
	const std::uint32_t interval = input.take<std::uint8_t>();
	SqAccounting l(capacity, interval, chain);

	struct Chain {
		std::uint32_t wrs;
		bool signaled;
	};
	std::deque<Chain> queue;
	std::uint32_t used = 0;
	auto complete = [&] {
		std::size_t n = 0;
		while (n < queue.size() && !queue[n].signaled)
			n++;
		if (n == queue.size())
			return false;
		for (; n + 1 > 0; n--) {
			used -= queue.front().wrs;
			queue.pop_front();
			if (n == 0)
				break;
		}
		l.retire();
		return true;
	};

	for (unsigned char event : input.rest()) {
		if (event & 0x80) {
			complete();
			continue;
		}
		const std::uint32_t wrs = 1 + (event & 7) % chain;
		const std::uint32_t requests = 1 + (event >> 3) % wrs;
		const SendPermit p = l.reserve(wrs, event & 0x40, requests);
		if (p == SendPermit::Full) {
			MUST(complete());
		} else if (event & 0x20) {
			l.cancel(wrs, p, requests);
		} else {
			queue.push_back({wrs, p == SendPermit::Signaled});
			used += wrs;
		}
		MUST(used <= l.used() && l.used() <= capacity);
	}
	while (complete())
		;
	MUST(used == l.used());
}

void slots(Input input)
{
	SlotWord w;
	for (unsigned char event : input.rest()) {
		const PathTag path{static_cast<std::uint16_t>((event & 0x7f) % kMaxPaths)};
		const SlotWord before = w;
		const SlotStep s = event & 0x80
				       ? slot_finish(w, PathTag{static_cast<std::uint16_t>(
							    event & 4 ? path.value : w.owner - 1)})
				       : slot_request(w, path);
		w = s.next;
		MUST(w.owner != 0 || w.waiter == 0);
		MUST(w.owner == 0 || w.owner != w.waiter);
		if (s.event == SlotEvent::Violation || s.event == SlotEvent::Ignored)
			MUST(w == before);
		if (s.event == SlotEvent::Start)
			MUST(w.owner == s.path.value + 1);
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	accounting(Input(data, size));
	slots(Input(data, size));
	return 0;
}
