// SPDX-License-Identifier: GPL-2.0
// How many attempts of an address may end without a proof (protocol J.3, rule 5). Pure.
//
// Secrets cannot be guessed. The limit protects the server's time and its log: a wrong proof costs
// a whole handshake. Each address has a budget of kFailuresAtOnce failures, of which one comes back
// every kMsPerFailure. An address whose budget is used up has its connection requests refused,
// before the server makes anything for them. Attempts of an address that has failed count as failed
// while they go on, until one of them proves a key: else many attempts in parallel would pass
// whenever one failure has come back.
//
// The address is a GID that the request's sender writes, since the connection manager tells no
// other; answers go there. Over RoCE there is the neighbour that the packet came from, too. So an
// attempt counts from when its sender has shown that it hears answers (ESTABLISHED) and not before:
// requests in another host's name lead to none. What stays silent is bounded by pure/quota.hh,
// apart from this. An address that has proven itself of late is exempt, so that nothing that is
// sent in its name locks it out.
//
// An address that is not in the table has its whole budget. The table has kPlaces places; when they
// are used up, the address that needs its record least is forgotten. A client with many addresses
// therefore has many budgets, again and again. So all strangers, addresses that have proven nothing
// of late, have one limit together as well. Addresses that have proven a key are remembered apart,
// so that no flood of strangers keeps them out; only a key gets an address there.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

constexpr u32 kFailuresAtOnce = 16;
constexpr u64 kMsPerFailure = 2000;
// Attempts at the same time of an address that has not failed: all paths of a client that finds its
// server again.
constexpr u32 kAskingAtOnce = 128;
// Of all strangers together. What each costs is in bench/README.md.
constexpr u32 kStrangersAtOnce = 128;
constexpr u64 kMsPerStranger = 100;

// Attempts that go on and have not proven anything yet, of senders that have heard an answer.
struct Asking {
	u32 same = 0;	   // of the address that asks
	u32 strangers = 0; // of all strangers
};

// The owner has a lock around it. Times are milliseconds of a clock; one that was read before
// another's, and comes after it, gives nothing back.
template <u32 kPlaces = 64, u32 kKnown = 256> class FailureLimit {
public:
	struct Address {
		u8 bytes[16];
		u8 neighbour[6] = {}; // 0 where none is known
		constexpr bool operator==(const Address &) const = default;
	};

	// Whether an attempt from there may begin beside those.
	constexpr bool allows(const Address &from, u64 now, Asking asking) const
	{
		if (!is_stranger(from))
			return true;
		const u64 failed = failures_of(from, now);
		if (failed ? failed + asking.same >= kFailuresAtOnce : asking.same >= kAskingAtOnce)
			return false;
		// Many may come at once when a server is back, as long as all of them prove it.
		const u64 strange = strangers_.at(now, kMsPerStranger);
		return !strange || strange + asking.strangers < kStrangersAtOnce;
	}

	// Whether an attempt from there may go on with a further connection.
	constexpr bool allows_more(const Address &from, u64 now) const
	{
		return !is_stranger(from) || failures_of(from, now) < kFailuresAtOnce;
	}

	// An attempt from there has not proven anything. Whether the log should tell: not of each
	// that comes when nothing is left.
	constexpr bool failed(const Address &from, u64 now)
	{
		const bool alone =
		    find_or_make(from, now).failures.add(now, kMsPerFailure, kFailuresAtOnce);
		const bool together =
		    !is_stranger(from) || strangers_.add(now, kMsPerStranger, kStrangersAtOnce);
		return alone && together;
	}

	// An attempt from there has proven who it is.
	constexpr void proven(const Address &from, u64 now)
	{
		Known *oldest = &known_[0];
		for (Known &known : known_) {
			if (known.used && known.address == from) {
				known.since = now;
				return;
			}
			if (!known.used || (oldest->used && known.since < oldest->since))
				oldest = &known;
		}
		*oldest = {.address = from, .used = true, .since = now};
	}

	constexpr bool is_stranger(const Address &from) const
	{
		for (const Known &known : known_)
			if (known.used && known.address == from)
				return false;
		return true;
	}

private:
	// Counts up to a limit, and down by one in each so many milliseconds.
	struct Count {
		u64 value = 0; // at `since`
		u64 since = 0;

		constexpr u64 elapsed(u64 now) const { return now > since ? now - since : 0; }

		constexpr u64 at(u64 now, u64 ms_each) const
		{
			const u64 given_back = elapsed(now) / ms_each;
			return value > given_back ? value - given_back : 0;
		}

		// Whether it was below the limit.
		constexpr bool add(u64 now, u64 ms_each, u64 limit)
		{
			const u64 before = at(now, ms_each);
			value = cxxrt::min_of<u64>(before + 1, limit);
			// What is on its way to be given back is kept.
			since = before ? since + elapsed(now) / ms_each * ms_each : now;
			return before < limit;
		}
	};

	struct Place {
		Address address = {};
		Count failures = {}; // 0 is a free place
	};

	struct Known {
		Address address = {};
		bool used = false;
		u64 since = 0;
	};

	constexpr u64 failures_of(const Address &address, u64 now) const
	{
		for (const Place &place : places_)
			if (place.failures.value && place.address == address)
				return place.failures.at(now, kMsPerFailure);
		return 0;
	}

	constexpr Place &find_or_make(const Address &address, u64 now)
	{
		Place *least = &places_[0];
		for (Place &place : places_) {
			if (place.failures.value && place.address == address)
				return place;
			if (place.failures.at(now, kMsPerFailure) <
			    least->failures.at(now, kMsPerFailure))
				least = &place;
		}
		*least = {.address = address, .failures = {.value = 0, .since = now}};
		return *least;
	}

	Place places_[kPlaces] = {};
	Known known_[kKnown] = {};
	Count strangers_ = {};
};

} // namespace rtrs
