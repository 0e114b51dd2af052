// SPDX-License-Identifier: GPL-2.0
// Texts made from the table of commands, the table of keys and the tables of fields.
#pragma once

#include "command.hh"

namespace rnbdadm {

// Manual pages in the language of man(7): the program, one command, the configuration.
std::string man_overview();
std::string man_command(const Command &command);
std::string man_config();
// "rnbdadm-path-add.8"
std::string man_name(const Command &command);

std::string bash_completion();
std::string zsh_completion();
std::string json_schema();

// The command "generate initramfs".
Exit generate_initramfs(Call &call);

// Live names for completion: devices, sessions, paths ...
std::vector<std::string> live_names(const Host &host, const std::string &kind);

} // namespace rnbdadm
