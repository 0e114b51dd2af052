// SPDX-License-Identifier: GPL-2.0
#include "reservations.hh"

#include "text.hh"

#include <fmt/format.h>

namespace rnbdadm {

namespace {

const std::string kList = kRnbdServer + "/ctl/reservations";

} // namespace

void need_reservations(const Host &host)
{
	need_server(host);
	if (!host.exists(kList))
		throw too_old_server();
}

// A line of three words begins a disk, those of its clients have more.
std::vector<Registration> read_reservations(const Host &host)
{
	std::vector<Registration> all;
	Registration disk;
	for (const std::string &line : split(host.text(kList), "\n")) {
		const std::vector<std::string> words = split(line);
		if (words.size() == 3) {
			disk = {};
			disk.device = words[0];
			disk.type = words[1];
			disk.generation = parse_number(words[2]);
		} else if (words.size() > 3 && words[0] == disk.device) {
			Registration client = disk;
			client.session = words[1];
			if (words[2] != "-")
				client.proven = words[2];
			client.key = words[3];
			client.holder = words.size() > 4 && words[4] == "holder";
			all.push_back(client);
		}
	}
	return all;
}

void clear_reservations(Call &call, const std::string &device)
{
	call.write(kRnbdServer + "/ctl/clear_reservations", device, Action::Reservations,
		   "cannot clear the reservations of " + device);
}

} // namespace rnbdadm
