// SPDX-License-Identifier: GPL-2.0
// server reservations, server clear-reservations.
#include "reservations.hh"
#include "text.hh"

#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// Those of the disk that is named.
std::vector<Registration> of_disk(const Call &call, const std::string &word)
{
	std::vector<Registration> chosen;
	std::vector<std::string> candidates;
	for (const Registration &r : read_reservations(call.host)) {
		candidates.push_back(r.device);
		if (word == r.device || word == "/dev/" + r.device)
			chosen.push_back(r);
	}
	if (chosen.empty())
		throw Failure(Exit::NotFound, fmt::format("no client is registered with '{}'{}",
							  word, did_you_mean(word, candidates)));
	return chosen;
}

Exit reservations(Call &call)
{
	need_reservations(call.host);
	const std::vector<Registration> all = call.arguments.empty()
						  ? read_reservations(call.host)
						  : of_disk(call, call.arguments[0]);
	print_rows(call.out, kReservationKind, to_rows(all), call.style);
	return Exit::Done;
}

Exit clear(Call &call)
{
	need_reservations(call.host);
	clear_reservations(call, of_disk(call, call.arguments[0])[0].device);
	return Exit::Done;
}

} // namespace

std::vector<Command> reservation_commands()
{
	return {
	    {"server reservations",
	     "list which clients are registered with disks, and who has reserved them",
	     "A line for each client and disk, by the persistent reservations that clients make "
	     "with 'blkpr' and the like. They stay while nobody has the disk open.",
	     {{"DISK", "a disk of this machine", "reserved", false}},
	     {},
	     {{"rnbdadm server reservations", ""}},
	     &kReservationKind,
	     reservations},
	    {"server clear-reservations",
	     "end the reservation of a disk, and all registrations with it",
	     "Whoever was kept out may use the disk again: only for a disk whose clients have "
	     "been stopped, or are known to be gone.",
	     {{"DISK", "a disk of this machine", "reserved"}},
	     {},
	     {{"rnbdadm server clear-reservations sdb", ""}},
	     nullptr,
	     clear},
	};
}

} // namespace rnbdadm
