// SPDX-License-Identifier: GPL-2.0
// How often writes of clients could not be made durable when their device was closed, for each
// disk: the number that clients compare (protocol D.5). Pure.
//
// It outlives whoever had the disk open, the disk itself, and the module: one that is unplugged and
// comes back is the same by its identity. Where all is zero, nothing is lost. The table is bounded:
// if more disks than it has places have lost something, every disk counts as one that has.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

// A digest (FNV-1a) of what a disk is known by. Two that share one share their losses.
struct DiskKey {
	u64 value;

	static constexpr DiskKey of(TextView identity)
	{
		u64 v = 0xcbf29ce484222325;
		for (usize i = 0; i < identity.size(); i++)
			v = (v ^ static_cast<u8>(identity[i])) * 0x100000001b3;
		return {v};
	}
	constexpr bool operator==(const DiskKey &) const = default;
};

class LostFlushes {
public:
	constexpr u32 of(DiskKey disk) const
	{
		for (u32 i = 0; i < used_; i++)
			if (places_[i].disk == disk)
				return before_ + places_[i].count;
		return before_;
	}

	constexpr bool any() const { return used_ || before_; }

	// Something was lost, and nobody knows of which disk.
	constexpr void add_unknown()
	{
		// A number that none of them has shown.
		u32 highest = 0;
		for (u32 i = 0; i < used_; i++)
			highest = cxxrt::max_of(highest, places_[i].count);
		before_ += highest + 1;
		used_ = 0;
	}

	constexpr void add(DiskKey disk)
	{
		for (u32 i = 0; i < used_; i++)
			if (places_[i].disk == disk) {
				places_[i].count++;
				return;
			}
		if (used_ == kPlaces) {
			add_unknown();
			return;
		}
		places_[used_++] = {disk, 1};
	}

	enum : u32 { kPlaces = 128 };

private:
	struct Place {
		DiskKey disk;
		u32 count;
	};

	Place places_[kPlaces] = {};
	u32 used_ = 0;
	u32 before_ = 0; // of all disks
};

} // namespace rnbd
