// SPDX-License-Identifier: GPL-2.0
// What lies between this machine and an address of a server, where errors of the kernel say only
// that nobody answered.
#pragma once

#include "model.hh"

namespace rnbdadm {

struct Way {
	bool ok = true;
	std::string text;   // the first thing that is wrong, or how it goes
	std::string advice; // what to look at; "" if nothing is wrong
};

// `source` may be "". Nothing for addresses that are no IP's ("gid:...").
std::optional<Way> look_at_way(const Host &host, const std::vector<HcaPort> &ports,
			       const std::string &source, const std::string &destination);
// Of paths as "[source@]destination": a line for each way on which something is wrong, or "".
std::string wrong_ways(const Host &host, const std::vector<std::string> &paths);

// "4 queue pairs: rts": those of a module's path between two addresses, or "".
std::string queue_pairs(const std::vector<RdmaConnection> &connections, const Path &path);
// Whether connects through that device are neither asked nor answered any more.
bool is_deaf(const std::vector<RdmaQueuePair> &pairs, const std::string &hca);
// What helps then.
std::string cure_of_deaf(const HcaPort &port);
// "local_ack_timeout_err 12, out_of_sequence 3": what a port has counted that should not be, or "".
std::string troubles_of(const Host &host, const Path &path);

} // namespace rnbdadm
