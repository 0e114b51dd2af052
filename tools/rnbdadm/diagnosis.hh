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
// Of a module that is loaded; "" if it has no such parameter.
std::string module_parameter(const Host &host, const char *module, const char *name);
// Whether and where the server that is loaded takes connections.
void judge_serving(const Host &host, std::vector<Finding> &findings);
// A client as it would ask for an export; what is empty is not said of it, but a key: it has none.
struct ExportClient {
	std::string session;
	std::string key;
	std::string address;
};
// Of an export of this machine; what its rules say to a client, if there is one. Failure (Usage) if
// its address is none.
std::vector<Finding> explain_export(const Host &host, const Export &e,
				    const std::optional<ExportClient> &client);
std::vector<Finding> examine_host(const Host &host);
void examine_module_files(const Host &host, std::vector<Finding> &findings);

} // namespace rnbdadm
