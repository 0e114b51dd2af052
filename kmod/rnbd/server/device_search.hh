// SPDX-License-Identifier: GPL-2.0
// From the name that a client gives to a block device of this machine (protocol E.2, G.2).
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/result.hh>
#include <cxxrt/wait.hh>
#include <rnbd/server/opening.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>
#include <rnbd/wire/wwid.hh>

namespace rnbd::server {

class DeviceLooks;

// The device number of `name` beneath the search path of `session`. EINVAL for a name with "..",
// EXDEV if one of its folders lies outside the search path, ENOTBLK, ENOENT, ... May sleep.
Result<dev_t> find_device(const char *search_path, TextView session, const DeviceName &name);

// Searches for devices by their identities, of all sessions. Each session has some places, and all
// together have some, so a client that asks for many at once costs no more than one that asks for
// a few. The names of folders are in memory for one search at a time.
class DeviceSearches {
public:
	// Places of one session: twice what a client of this project has under way, as its searches
	// of before a reconnect may still be there. And of all sessions.
	enum : int { kOfSession = 8, kOfAll = 32 };
	// Searches of one session that wait or are under way.
	struct OfSession {
		atomic_t searches = ATOMIC_INIT(0);
	};

	explicit DeviceSearches(DeviceLooks &looks) : looks_(looks) {}

	// As find_device() for a name that is an identity. ENOENT if there is no such device
	// beneath the search path, or more than one, EINVAL for a name that is none, EBUSY if no
	// place becomes free, ECONNABORTED when the OPEN is given up. A multipath map counts, and
	// then its paths do not. Sleeps for seconds where disks hang.
	Result<dev_t> find(const char *search_path, TextView session, OfSession &places,
			   const DeviceName &name, const Opener &opener);

private:
	class Place;
	Status take_place(OfSession &places, const Opener &opener);
	void leave(OfSession &places);

	struct Folders {};
	DeviceLooks &looks_;
	atomic_t searches_ = ATOMIC_INIT(0);
	cxxrt::WaitQueue left_{cxxrt::lock_class<"rnbd-server searches left">()};
	// Held while folders are read.
	cxxrt::Guarded<Folders, cxxrt::Mutex> folders_{cxxrt::lock_class<"rnbd-server searches">()};
};

} // namespace rnbd::server
