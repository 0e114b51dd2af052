// SPDX-License-Identifier: GPL-2.0
// Exports through configfs: what the commands and apply have in common.
#pragma once

#include "command.hh"

namespace rnbdadm {

struct ExportRequest {
	std::string name;
	std::string device_path;
	std::string access; // "" leaves the module's default
	std::vector<std::string> clients;
};

// Failure (Missing) if the loaded module has no exports.
void need_exports(const Host &host);
// Makes it as a whole: what was made is removed again if a part fails.
void add_export(Call &call, const ExportRequest &request);
void remove_export(Call &call, const std::string &name);

} // namespace rnbdadm
