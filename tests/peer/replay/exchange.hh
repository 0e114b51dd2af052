// SPDX-License-Identifier: GPL-2.0
// One session of a client that says what honest clients say, with mutations.
#pragma once

#include "../client.hh"
#include "mutate.hh"

namespace peer {

struct Tally {
	unsigned sent = 0;
	unsigned mutated = 0;
	unsigned answered = 0;
};

// Ends when all was said or the server closed the path. Throws if this machine failed.
void play(const Target &target, Mutator &m, const std::string &session_name, Tally &tally);

} // namespace peer
