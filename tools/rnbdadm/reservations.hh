// SPDX-License-Identifier: GPL-2.0
// Which clients are registered with which disks of this server, and who has reserved them:
// /sys/class/rnbd-server/ctl/reservations.
#pragma once

#include "command.hh"

namespace rnbdadm {

// A client that is registered with a disk.
struct Registration {
	std::string device;
	std::string type; // of the disk's reservation, or none
	Number generation;
	std::string session;
	Text proven; // key that its client has proven
	std::string key;
	bool holder = false;
};

extern const Kind kReservationKind;
Json to_json(const Registration &registration);

// Failure (Missing) if the module has none.
void need_reservations(const Host &host);
// None where the module has none.
std::vector<Registration> read_reservations(const Host &host);
// Ends all of a disk.
void clear_reservations(Call &call, const std::string &device);

} // namespace rnbdadm
