// SPDX-License-Identifier: GPL-2.0
// What this server itself holds of a disk's persistent reservations, to keep other initiators out
// while clients keep each other out (protocol D.5). To the disk all clients are this one machine.
//
// The key is the server's own. A registration of this machine under another key belongs to somebody
// else, who is left alone; one under this key is left from a life that ended without a word.
#pragma once

#include <cxxrt/kernel.hh>
#include <rnbd/wire/reserve.hh>

namespace rnbd::server {

// Why a device can have no reservations: null if it can, as a whole disk whose driver knows them,
// or a map of dm-multipath. A slice of a disk can't: device mapper hands what it is asked on to the
// disk below, where the slices of one server are one registrant, and one slice's registration ends
// another's. May sleep, but not for the device.
const char *no_reservations(block_device *bdev);

// One user at a time.
class PrBackend {
public:
	struct Wanted {
		bool registered;
		ReservationType type; // one for registrants, or none; with registered only
	};

	// Until all is as it is wanted, or up to the first that the disk refuses. EBADE for a
	// conflict, EBUSY if it can't be asked now, EOPNOTSUPP if it knows no reservations. May
	// sleep as long as the disk does.
	Status follow(block_device *bdev, u64 key, const Wanted &wanted);
	// Also when an error of the disk left it open whether a registration was made.
	bool may_be_registered() const { return registered_ || uncertain_; }
	// The disk is another one now, or came by another way.
	void forget() { *this = PrBackend(); }

private:
	Status enrol(block_device *bdev, u64 key);
	Status change_type(block_device *bdev, u64 key, ReservationType type);

	bool registered_ = false;
	bool uncertain_ = false; // not registered_, but the disk may have taken it
	ReservationType type_ = ReservationType::None;
};

} // namespace rnbd::server
