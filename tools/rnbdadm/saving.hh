// SPDX-License-Identifier: GPL-2.0
// Disks and exports that are brought about, or ended, and in the configuration as well: --save.
#pragma once

#include "config_edit.hh"

namespace rnbdadm {

// Maps what the command line asks for, with the name and values that the configuration has for it;
// a disk that is mapped already is saved as it is. Failure (Exists) if it is mapped or configured
// otherwise. Nothing with --dry-run.
std::optional<Device> map_and_save(Call &call, const MapRequest &asked);

// The same of an export. `asked` has the addresses of the command line as they were written.
// Returns what it was made with.
ExportRequest add_export_and_save(Call &call, const ExportRequest &asked);

// Ends `count` objects, with the exit code of Call::each(), and takes those out of the
// configuration of which `end` says that they have ended, or never were.
Exit end_each(Call &call, std::size_t count, const std::function<bool(std::size_t)> &end,
	      const std::function<void(ConfigEdit &, std::size_t)> &take_out);

// Says it if what brings the configuration about at the next start is not enabled.
void warn_of_unit(Call &call, const std::string &unit);

} // namespace rnbdadm
