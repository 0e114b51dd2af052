// SPDX-License-Identifier: GPL-2.0
// How often writes of clients could not be made durable when their device was closed, for each
// disk: the number that clients compare (protocol D.5). Pure.
//
// It outlives whoever had the disk open. The table is bounded: if more disks than it has places
// have lost something, every disk counts as one that has.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

// A disk, for as long as it is plugged in; its successor under the same number is another.
struct DiskIdentity {
	u64 number;
	u64 sequence;
	constexpr bool operator==(const DiskIdentity &) const = default;
};

class Losses {
public:
	constexpr u32 of(const DiskIdentity &disk) const
	{
		for (u32 i = 0; i < used_; i++)
			if (places_[i].disk == disk)
				return before_ + places_[i].count;
		return before_;
	}

	constexpr void add(const DiskIdentity &disk)
	{
		for (u32 i = 0; i < used_; i++)
			if (places_[i].disk == disk) {
				places_[i].count++;
				return;
			}
		if (used_ == kPlaces) {
			// A number that none of them has shown.
			u32 highest = 0;
			for (const Place &p : places_)
				highest = cxxrt::max_of(highest, p.count);
			before_ += highest + 1;
			used_ = 0;
			return;
		}
		places_[used_++] = {disk, 1};
	}

	enum : u32 { kPlaces = 64 };

private:
	struct Place {
		DiskIdentity disk;
		u32 count;
	};

	Place places_[kPlaces] = {};
	u32 used_ = 0;
	u32 before_ = 0; // of all disks
};

} // namespace rnbd
