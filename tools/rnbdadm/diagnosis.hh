// SPDX-License-Identifier: GPL-2.0
// What is wrong, why, and what to do: of one device, and of the machine.
#pragma once

#include "command.hh"

namespace rnbdadm {

struct Finding {
	std::string check;
	std::string verdict; // ok, note, problem
	std::string text;
	std::string advice;
};

Json to_json(const Finding &finding);
bool has_problem(const std::vector<Finding> &findings);

void print_findings(Call &call, const std::vector<Finding> &findings);

std::vector<Finding> explain_device(const Host &host, const Device &device);
// Of a session with all of its devices and paths.
std::vector<Finding> explain_session(const Host &host, const Session &session);
std::vector<Finding> examine_host(const Host &host);
void examine_module_files(const Host &host, std::vector<Finding> &findings);

} // namespace rnbdadm
