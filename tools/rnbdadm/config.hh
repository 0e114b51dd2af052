// SPDX-License-Identifier: GPL-2.0
// /etc/rnbd/rnbd.conf and /etc/rnbd/rnbd.conf.d/*.conf: what shall be mapped and exported.
#pragma once

#include "config_file.hh"
#include "exports.hh"
#include "mapping.hh"
#include "name_lists.hh"

namespace rnbdadm {

inline const std::string kConfigFile = "/etc/rnbd/rnbd.conf";
inline const std::string kConfigFolder = "/etc/rnbd/rnbd.conf.d";

struct SessionConfig {
	std::string name;
	std::string place; // file:line
	// Canonical, but for names of machines.
	std::vector<std::string> paths;
	std::int64_t port = 1234;
	std::string auth; // empty: as the module has it
	std::string key;
	std::map<std::string, std::string> settings; // names of session_settings()
	std::vector<std::string> soft_roce;	     // network interfaces, for an initramfs
};

struct DeviceConfig {
	std::string name;
	std::string place;
	MapRequest request; // complete: defaults and those of the session are in it
};

struct ExportConfig {
	std::string place;
	ExportRequest request;
};

struct NameListConfig {
	std::string place;
	NameList list;
};

struct Config {
	std::vector<SessionConfig> sessions;
	std::vector<DeviceConfig> devices;
	std::vector<ExportConfig> exports;
	std::vector<NameListConfig> name_lists;
	// Devices that an initramfs maps, by name; those with a mistake, too.
	std::vector<std::string> initramfs;
	// What is described in a section with a mistake is not among the above.
	std::vector<Mistake> mistakes;

	bool faulty(const std::string &kind, const std::string &name) const;
	bool in_initramfs(const std::string &device) const;
	const SessionConfig *session(const std::string &name) const;
	const DeviceConfig *device(const std::string &name) const;
	// By what it is there and in which session.
	const DeviceConfig *mapping(const std::string &session, const std::string &path) const;
	const ExportConfig *exported(const std::string &name) const;
};

// Its files that are there, in the order in which they are read.
std::vector<std::string> config_files(const Host &host);
// Both places; an absent configuration is an empty one.
Config read_config(const Host &host, const Drafts &drafts = {});
Config read_config(const Host &host, const std::vector<std::string> &files);
// Whether a device may have that name in the configuration, which is that of a systemd unit, too.
bool is_device_name(const std::string &name);
// "<what> has 2 mistakes:", with a line for each.
Failure failure_of(const std::vector<std::string> &mistakes, const std::string &what);
// Failure (Config) with all mistakes: what runs and is not described may be meant by one of them.
void need_no_mistakes(const Config &config);
// A path in the form in which two can be compared: numbers instead of ways to write them.
std::string comparable_path(const std::string &path);
// Whether a configured path (its source may be missing) is this one.
bool same_path(const std::string &configured, const Path &path);
bool has_path(const Session &session, const std::string &configured);

// Paths with addresses in the place of names: those that a running session has, else the best.
struct ResolvedPaths {
	std::vector<std::string> paths;
	struct Missing {
		std::string word, reason;
	};
	std::vector<Missing> missing; // which nobody knows
};
// Asks the resolver for names. `running` may be null.
ResolvedPaths resolve_paths(const Host &host, const SessionConfig &session, const Session *running);

// A name for a device of the configuration, from its owner or the last part of its path, which is
// not among those that are taken: it is one more then.
std::string name_for(const Device &device, std::map<std::string, int> &taken);

// Sections of what runs, and of an export with these rules: lines, the first of which is the
// heading. `configured` may be null; it gives what the module does not tell.
std::string section_of(const Host &host, const Session &session, const SessionConfig *configured);
std::string section_of(const Device &device, const std::string &name);
std::string section_of(const ExportRequest &exported);

// The configuration of what runs. `known` gives the ports of sessions where the module does not
// tell them.
std::string saved_config(const Host &host, const Config &known);

} // namespace rnbdadm
