// SPDX-License-Identifier: GPL-2.0
// Requests that wait for a chain, in turns of those who sent them. Pure.
//
// A flow is one user of the session, a disk: its requests go in their order, and the flows take
// turns, one request each (round robin, as a DRR of equal sizes). So who has one request waiting
// is in the next chain, however many another one has.
//
// A modest flow still waits for the chain before its own, which is as long as the greedy flows make
// it. So chains are short for a while where a flow waits for little beside others that have much:
//
//	a chain is uneven	a flow is through with what it had, and those that are left have
//				kMuch times as much each, or more
//	an uneven chain, and	take no more than kShort requests, or one of each flow if that is
//	the kShortChains after	more
//
// A flow that is alone, or beside its like, has long chains. Flows whose numbers are equal modulo
// kFlows count as one.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

namespace turns {

constexpr u32 kFlows = 64;
constexpr u32 kMuch = 4;
constexpr u32 kShort = 16;
constexpr u32 kShortChains = 16;

} // namespace turns

// List: of pointers' targets of type T, with empty(), push_back(), push_front() and pop_front(),
// null if it is empty.
template <class T, class List> class FairQueue {
public:
	constexpr bool empty() const { return flow_count_ == 0; }

	constexpr void push(T &item, u32 number)
	{
		List &flow = flows_[number % turns::kFlows];
		if (flow.empty())
			join_last(number % turns::kFlows);
		flow.push_back(item);
		size_++;
	}

	// Calls add(T &) for those of the next chain, `most` at most, of which there is one at
	// least if anybody waits.
	template <class F> constexpr void take_chain(u32 most, F &&add)
	{
		uneven_ = false;
		if (short_chains_)
			most = cxxrt::min_of(most, short_limit());
		if (flow_count_ == 1)
			take_alone(most, add);
		else
			take_turns(most, add);
	}

	// The last of the chain's that are not back yet: it could not be posted.
	constexpr void put_back(T &item, u32 number)
	{
		List &flow = flows_[number % turns::kFlows];
		if (!flow.empty())
			leave_last();
		flow.push_front(item);
		join_first(number % turns::kFlows);
		size_++;
	}

	// The chain is posted.
	constexpr void end_chain()
	{
		if (uneven_)
			short_chains_ = turns::kShortChains;
		else if (short_chains_)
			short_chains_--;
	}

	// They are not posted any more.
	constexpr void drop_all()
	{
		for (List &flow : flows_)
			while (flow.pop_front())
				;
		flow_count_ = size_ = 0;
	}

private:
	constexpr u32 short_limit() const { return cxxrt::max_of(turns::kShort, flow_count_); }

	template <class F> constexpr void take_alone(u32 most, F &add)
	{
		List &flow = flows_[ring_[first_]];
		const u32 count = cxxrt::min_of(most, size_);
		for (u32 n = 0; n < count; n++)
			add(*flow.pop_front());
		size_ -= count;
		if (!size_)
			leave_first();
	}

	template <class F> constexpr void take_turns(u32 most, F &add)
	{
		const u32 when_uneven = short_limit();
		u32 round = 1; // so many has who is taken from now had, with this one
		u32 left_of_round = flow_count_;
		for (u32 taken = 0; taken < most && !empty(); taken++) {
			const u32 number = ring_[first_];
			List &flow = flows_[number];
			add(*flow.pop_front());
			size_--;
			leave_first();
			if (!flow.empty()) {
				join_last(number);
			} else if (flow_count_ && size_ / flow_count_ >= turns::kMuch * round) {
				uneven_ = true;
				most = cxxrt::min_of(most, when_uneven);
			}
			if (--left_of_round == 0) {
				round++;
				left_of_round = flow_count_;
			}
		}
	}

	// The ring: the numbers of flows with requests, in the order of their turns.
	constexpr void join_last(u32 number)
	{
		ring_[(first_ + flow_count_++) % turns::kFlows] = static_cast<u8>(number);
	}
	constexpr void join_first(u32 number)
	{
		first_ = (first_ + turns::kFlows - 1) % turns::kFlows;
		ring_[first_] = static_cast<u8>(number);
		flow_count_++;
	}
	constexpr void leave_first()
	{
		first_ = (first_ + 1) % turns::kFlows;
		flow_count_--;
	}
	constexpr void leave_last() { flow_count_--; }

	List flows_[turns::kFlows]{};
	u8 ring_[turns::kFlows]{};
	u32 first_ = 0;
	u32 flow_count_ = 0;   // in the ring
	u32 size_ = 0;	       // of all flows
	bool uneven_ = false;  // the chain
	u32 short_chains_ = 0; // still to come
};

} // namespace rtrs
