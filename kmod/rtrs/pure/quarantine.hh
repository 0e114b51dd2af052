// SPDX-License-Identifier: GPL-2.0
// A path that carries what is small and loses what is large, as a switch with a smaller MTU makes
// one: it connects, its heartbeats come, and what is given to it hangs. Pure.
//
// That such a path has been mended shows only in a request that is given to it, which may hang once
// more. So the path stays out of use while another path is there, and longer each time that it is
// lost in this way soon after it has come back. Where it is the only one it is better than none.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// What a server of this project answers to a path that it has in quarantine (protocol A.8).
constexpr Error kStarvedPath = Error::from_errno(70); // ECOMM

// `now` is in seconds of a monotonic clock.
class Quarantine {
public:
	// What was given to the path has hung.
	constexpr void begin(u64 now)
	{
		const bool again = seconds_ && now < until_ + seconds_;
		seconds_ = again ? cxxrt::min_of(2 * seconds_, u64{kLongest}) : u64{kFirst};
		until_ = now + seconds_;
	}
	// For how many seconds more it stays out of use; 0: not at all.
	constexpr u64 rest(u64 now) const { return now < until_ ? until_ - now : 0; }
	// An administrator says that it has been mended.
	constexpr void lift() { *this = {}; }
	constexpr u64 until() const { return until_; }

private:
	enum : u64 { kFirst = 60, kLongest = 960 };

	u64 seconds_ = 0; // of the last one
	u64 until_ = 0;
};

// Those of a session, of the paths that had one last; a client that has more bad paths than that
// meets the oldest of them sooner again.
class Quarantines {
public:
	constexpr void begin(const Uuid &path, u64 now)
	{
		Entry *chosen = &entries_[0];
		for (Entry &entry : entries_) {
			if (entry.path == path) {
				chosen = &entry;
				break;
			}
			if (entry.quarantine.until() < chosen->quarantine.until())
				chosen = &entry;
		}
		if (!(chosen->path == path))
			*chosen = {path, {}, false};
		chosen->quarantine.begin(now);
		chosen->told = false;
	}
	// Whether an attempt to connect the path is refused, if there is another one. Who `knows`
	// what the refusal says has a quarantine himself, and an administrator who may lift it: he
	// is told once.
	constexpr bool refuses(const Uuid &path, u64 now, bool knows)
	{
		for (Entry &entry : entries_)
			if (entry.path == path)
				return entry.quarantine.rest(now) &&
				       !(cxxrt::exchange(entry.told, true) && knows);
		return false;
	}

private:
	struct Entry {
		Uuid path{};
		Quarantine quarantine;
		bool told = false;
	};
	enum : u32 { kEntries = 8 };

	Entry entries_[kEntries] = {};
};

} // namespace rtrs
