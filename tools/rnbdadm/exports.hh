// SPDX-License-Identifier: GPL-2.0
// Exports through configfs: what the commands and apply have in common.
#pragma once

#include "command.hh"

#include <array>

namespace rnbdadm {

class DiskUsers;

struct ExportRequest {
	std::string name;
	std::string device_path;
	std::string access;    // "" leaves the module's default
	std::string local_use; // the same
	std::vector<std::string> clients;
	std::vector<std::string> keys;
	// As check_address_rule() gives them; in the configuration names of machines, too.
	std::vector<std::string> addresses;
};

// An address of clients, or a range of them, in the one form in which two can be compared. Failure
// (Usage) if it is none.
std::string check_address_rule(const std::string &text);

// The same of a word that may be the name of a machine, which stays as it is. Failure (Usage).
std::string address_rule_word(const std::string &word);
// The rules that these words stand for: of a name all addresses, since a client may come from any
// of them. Failure (NotFound) for a name that has none: without a rule everybody might come. Asks
// the resolver.
std::vector<std::string> resolved_rules(const Host &host, const std::vector<std::string> &words);

// Whether this machine may use the device of an export, too. Failure (Usage).
void check_local_use(const std::string &text);

// A key that clients have to have proven, or "name*", for reading alone with ":ro". Failure (Usage)
// if it is none.
void check_key_rule(const std::string &text);
// Without the ":ro".
std::string key_of_rule(const std::string &rule);

// False for a name with a blank, at which the kernel's map_device takes it to end. Who makes an
// export by hand may give it one.
bool can_be_mapped(const std::string &name);

// Failure (Usage) for what cannot be the name of an export.
void check_export_name(const std::string &name);

// Failure (Usage) for what cannot be the name of a block device of this machine.
void check_device(const std::string &path);
// False for what is there, and is no block device. What is not there may come.
bool may_be_exported(const Host &host, const std::string &path);

// What differs, as (key, configured, running).
std::vector<std::array<std::string, 3>> export_differences(const ExportRequest &wanted,
							   const Export &running);
// Failure (Missing) if the loaded module has no exports.
void need_exports(const Host &host);
// For a look at them: a module without exports has none, one that keeps them elsewhere is Missing.
void need_export_list(const Host &host);
// What uses the device of an export on this machine, though it shall have it alone; "" if nothing
// does, or the export shares it.
std::string unwanted_users(const DiskUsers &users, const ExportRequest &request);
// Makes it as a whole: what was made is removed again if a part fails. Failure (Busy) if something
// of this machine uses the device.
void add_export(Call &call, const ExportRequest &request);
// The device stays, as clients may use it; the rules become those of the request. Failure (Failed)
// if the device is another one, Missing if the module lacks a rule. False if there was nothing to
// change.
bool change_export(Call &call, const Export &running, const ExportRequest &request);
void remove_export(Call &call, const std::string &name);

} // namespace rnbdadm
