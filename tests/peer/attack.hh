// SPDX-License-Identifier: GPL-2.0
// An attack is a function that does one wrong thing and says what a naive server did about it: an
// empty text if the server resisted as the protocol document asks (section G), else what happened.
#pragma once

#include "client.hh"

#include <functional>
#include <string>
#include <vector>

namespace peer {

struct Attack {
	std::string name;
	std::string row; // of Documentation/protocol.md
	std::function<std::string(const Target &)> run;
};

std::vector<Attack> handshake_attacks();
std::vector<Attack> info_attacks();
std::vector<Attack> request_attacks();
std::vector<Attack> fence_attacks();
std::vector<Attack> capsule_attacks();
// Need a key.
std::vector<Attack> proof_attacks();
std::vector<Attack> rnbd_attacks();

// ---- verdicts; each is empty when the expectation holds

std::string expect_reject(const ConnectResult &r, int error);
std::string expect_accept(const ConnectResult &r);
std::string expect_closed(Client &c);
std::string expect_answer(const Answer &a, int error);
// One of several errors, or the end of the path.
std::string expect_refused(const Answer &a);
// The session still serves a correct request.
std::string expect_alive(Client &c);

// The first text of several that is not empty.
std::string first_of(std::initializer_list<std::string> texts);

// A name that no other attack uses.
std::string fresh_name();

} // namespace peer
