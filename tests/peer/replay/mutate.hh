// SPDX-License-Identifier: GPL-2.0
// Deterministic mutations: the same seed gives the same ones on every machine.
#pragma once

#include "../verbs.hh"

#include <random>

namespace peer {

class Mutator {
public:
	Mutator(uint64_t seed, uint64_t round) : random_(mix(seed, round)) {}

	// 0 to n - 1.
	uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
	bool one_in(uint32_t n) { return below(n) == 0; }

	// A few bits, bytes or words of it change, or its length does.
	void mutate(Bytes &bytes);
	// A number as sizes, ids and offsets have them when they are wrong.
	uint32_t odd_number();
	// Two elements are exchanged, or one is left out or done again.
	template <class T> void reorder(std::vector<T> &list)
	{
		if (list.empty())
			return;
		const uint32_t at = below(static_cast<uint32_t>(list.size()));
		switch (below(3)) {
		case 0:
			std::swap(list[at], list[below(static_cast<uint32_t>(list.size()))]);
			break;
		case 1:
			list.erase(list.begin() + at);
			break;
		case 2: {
			const T again = list[at];
			list.insert(list.begin() + below(static_cast<uint32_t>(list.size() + 1)),
				    again);
			break;
		}
		}
	}

private:
	static uint64_t mix(uint64_t seed, uint64_t round)
	{
		return (seed ^ (round + 1) * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
	}

	std::mt19937_64 random_; // the standard says what it gives
};

} // namespace peer
