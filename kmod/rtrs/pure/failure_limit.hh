// SPDX-License-Identifier: GPL-2.0
// How many attempts of an address may end without a proof (protocol J.3, rule 5). Pure.
//
// Secrets cannot be guessed, so this is about work and the log only: what a wrong proof costs the
// server is a whole handshake. Each address may fail so many times at once, and then as often as
// time gives back; as long as it has nothing left, its connection requests are refused before
// anything is made for them. What an address that has failed asks for at the same time counts as
// failed until it has proven something: else it would get as much as it likes whenever time has
// given one back. The address is the one that packets go to, which is found out by
// nobody who is not there, and not the one that the request says: otherwise one could lock others
// out.
//
// An address that is not known has all its failures left. There is room for a number of addresses;
// when it is used up, the one that needs its record least makes room.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

constexpr u32 kFailuresAtOnce = 16;
constexpr u64 kMsPerFailure = 2000;
// Attempts at the same time of an address that has not failed: all paths of a client that finds its
// server again.
constexpr u32 kAskingAtOnce = 128;

// The owner has a lock around it. Times are milliseconds of a clock; one that was read before
// another's, and comes after it, gives nothing back.
template <u32 kPlaces = 64> class FailureLimit {
public:
	struct Address {
		u8 bytes[16];
		constexpr bool operator==(const Address &) const = default;
	};

	// Whether a connection request from there may go on: one of an attempt that goes on, or
	// the first one beside so many attempts that have not proven anything yet.
	constexpr bool allows(const Address &from, u64 now, u32 asking = 0) const
	{
		const Place *place = find(from);
		const u64 failed = place ? failures(*place, now) : 0;
		return failed ? failed + asking < kFailuresAtOnce : asking < kAskingAtOnce;
	}

	// An attempt from there has not proven anything. Whether the log should tell: not of each
	// that comes when the address has nothing left.
	constexpr bool failed(const Address &from, u64 now)
	{
		Place &place = find_or_make(from, now);
		const u64 before = failures(place, now);
		place.failures = cxxrt::min_of<u64>(before + 1, kFailuresAtOnce);
		// What is on its way to be given back is kept.
		place.since =
		    before ? place.since + elapsed(place, now) / kMsPerFailure * kMsPerFailure
			   : now;
		return before < kFailuresAtOnce;
	}

private:
	struct Place {
		Address address = {};
		u64 failures = 0; // at `since`; 0 is a free place
		u64 since = 0;
	};

	static constexpr u64 elapsed(const Place &place, u64 now)
	{
		return now > place.since ? now - place.since : 0;
	}

	static constexpr u64 failures(const Place &place, u64 now)
	{
		const u64 given_back = elapsed(place, now) / kMsPerFailure;
		return place.failures > given_back ? place.failures - given_back : 0;
	}

	constexpr const Place *find(const Address &address) const
	{
		for (const Place &place : places_)
			if (place.failures && place.address == address)
				return &place;
		return nullptr;
	}

	constexpr Place &find_or_make(const Address &address, u64 now)
	{
		Place *least = &places_[0];
		for (Place &place : places_) {
			if (place.failures && place.address == address)
				return place;
			if (failures(place, now) < failures(*least, now))
				least = &place;
		}
		*least = {.address = address, .failures = 0, .since = now};
		return *least;
	}

	Place places_[kPlaces] = {};
};

} // namespace rtrs
