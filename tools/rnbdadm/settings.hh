// SPDX-License-Identifier: GPL-2.0
// Settings of a session: one table for the command line, the configuration and what runs.
#pragma once

#include "command.hh"

namespace rnbdadm {

struct Setting {
	const char *name;		 // on the command line and in rnbd.conf
	std::vector<const char *> files; // in the session's folder; the first that exists counts
	const char *range;		 // for messages
	bool (*legal)(const std::string &value);
	const char *help;
	bool fixed = false; // when the session is opened: its file takes nothing
};

const std::vector<Setting> &session_settings();
// By which the command line gives it.
TextKey option_of(const Setting &setting);
// Null if there is none of that name.
const Setting *find_setting(const std::string &name);
std::vector<std::string> setting_names();
// Of those that an open session lets one change.
std::vector<std::string> changeable_names();
// Failure (Failed): the session has it otherwise, for as long as it is open.
[[noreturn]] void refuse_fixed(const std::string &session, const Setting &setting);
// Failure (Usage) that names the setting and its range.
void check_setting(const Setting &setting, const std::string &value);
// What runs, in the form of the configuration; nothing if the module lacks the setting.
std::optional<std::string> running_value(const Host &host, const std::string &session,
					 const Setting &setting);
// In the form in which running_value() gives it: "mi" is min-inflight.
std::string normal_value(const Setting &setting, const std::string &value);
void apply_setting(Call &call, const std::string &session, const Setting &setting,
		   const std::string &value);

} // namespace rnbdadm
