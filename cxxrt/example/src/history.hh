// SPDX-License-Identifier: GPL-2.0
// The last measurements, and a sum over all. No lock of its own: its owner has one.
#pragma once

#include <cxxrt/memory.hh>

namespace example {

struct Measurement {
	// Beyond the time that was asked for.
	cxxrt::u64 late_us;
	// Tasks that ran or wanted to, in hundredths.
	cxxrt::u32 load;
};

class History {
public:
	// `last` has the room for what is kept: at least one.
	explicit History(cxxrt::Array<Measurement> last) : last_(cxxrt::move(last)) {}

	void add(const Measurement &m)
	{
		last_[count_ % last_.size()] = m;
		count_++;
		worst_us_ = cxxrt::max_of(worst_us_, m.late_us);
	}

	cxxrt::u64 count() const { return count_; }
	cxxrt::u64 worst_us() const { return worst_us_; }
	// How many are kept now.
	cxxrt::usize kept() const { return cxxrt::min_of<cxxrt::u64>(count_, last_.size()); }
	// Of the kept ones, 0 is the latest; below kept().
	const Measurement &latest(cxxrt::usize n) const
	{
		return last_[(count_ - 1 - n) % last_.size()];
	}

private:
	cxxrt::Array<Measurement> last_;
	cxxrt::u64 count_ = 0;
	cxxrt::u64 worst_us_ = 0;
};

} // namespace example
