// SPDX-License-Identifier: GPL-2.0
// /etc/rnbd/rnbd.conf and /etc/rnbd/rnbd.conf.d/*.conf: what shall be mapped and exported. The
// format is documented in rnbd.conf(5), which is made from the table of keys here.
#pragma once

#include "exports.hh"
#include "mapping.hh"

namespace rnbdadm {

inline const std::string kConfigFile = "/etc/rnbd/rnbd.conf";
inline const std::string kConfigFolder = "/etc/rnbd/rnbd.conf.d";

struct SessionConfig {
	std::string name;
	std::string place;			     // file:line
	std::vector<std::string> paths;		     // canonical
	std::map<std::string, std::string> settings; // names of session_settings()
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

struct Config {
	std::vector<SessionConfig> sessions;
	std::vector<DeviceConfig> devices;
	std::vector<ExportConfig> exports;

	const SessionConfig *session(const std::string &name) const;
	const DeviceConfig *device(const std::string &name) const;
};

// A key, and in which kinds of sections it may stand.
struct ConfigKey {
	const char *name;
	const char *value;
	bool defaults, session, device, exported;
	bool many;
	const char *help;
};

const std::vector<ConfigKey> &config_keys();

// Both places; an absent configuration is an empty one. Failure (Config) that lists every mistake
// with its file and line.
Config read_config(const Host &host);
// A path in the form in which two can be compared: numbers instead of ways to write them.
std::string comparable_path(const std::string &path);
// Whether a configured path (its source may be missing) is this one.
bool same_path(const std::string &configured, const Path &path);

// The configuration of what runs. `known` gives ports, which the kernel does not tell.
std::string saved_config(const Host &host, const Config &known);

} // namespace rnbdadm
