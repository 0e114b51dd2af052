// SPDX-License-Identifier: GPL-2.0
// Mapping and unmapping one device: what the commands map and unmap, and apply, have in common.
#pragma once

#include "settings.hh"

#include <map>

namespace rnbdadm {

struct MapRequest {
	std::string session;
	std::string device_path;
	std::vector<std::string> paths; // canonical
	std::int64_t port = 1234;
	std::string access = "rw";
	std::int64_t poll_queues = 0;
	std::optional<std::int64_t> no_path_timeout; // s
	std::string auth;	 // policy of its session's proof; empty: the module's
	std::string key;	 // by which it proves; empty: none
	std::string owner = "-"; // name in the configuration
	// Of its session, by their names in session_settings(), as normal_value() has them. A
	// session that exists has them already, or the kernel refuses.
	std::map<std::string, std::string> settings;
	// A setting that the module lacks is a Failure (Missing), and not only said.
	bool needs_settings = true;
};

// What may stand behind --access and `access =`.
std::vector<std::string> access_modes();
// The policy that a session asks for: who names a key and no policy wants a proof. Said to the
// module as well, an older one of which would be content with less. Empty: the module's.
std::string wanted_auth(const std::string &auth, const std::string &key);
// Failure (Usage) for what the kernel would refuse, in words and before anything is written.
void check_request(const Host &host, const MapRequest &request);
// Of a session that is nowhere yet (Usage).
Failure needs_a_path(const std::string &session);
// The line for map_device: all that the module takes with a mapping, as its usage says, so that
// there is never a disk without it. Failure (Missing) for a proof that was asked for from a module
// that knows none: it would connect without.
std::string map_line(const Host &host, const MapRequest &request);
// What the module does not take with the mapping follows it. Nothing with --dry-run, which says all
// that would be written.
std::optional<Device> map_device(Call &call, const MapRequest &request);
// What has to be known to map a device again as it is, with its session if that ends with it.
class WayBack {
public:
	// `port` if the module does not tell it; Failure (Missing) if nobody does.
	WayBack(const Host &host, const Device &device, std::optional<std::int64_t> port);
	const MapRequest &request() const { return request_; }
	// Maps it again, and gives a new session the settings and paths of the old one.
	void go(Call &call) const;

private:
	MapRequest request_;
	Session session_;
};

// A session, what of it does not work, and how many of its paths do.
struct Recovery {
	explicit Recovery(const Session &s) : session(s), connected(s.connected()) {}
	// Failure if something is left that does not work.
	void check() const;

	Session session;
	std::string reasons;
	std::size_t connected;
};

// Connects their paths that are lost, and those of the configuration that they lack, all at once:
// one that does not connect takes its time, and holds up no other.
void connect_all(Call &call, std::vector<Recovery> &chosen);

// What to do about a disk that is in use.
inline const std::string kEndUse = "end that first; --force fails its I/O instead";
// Of a disk that is not unmapped for that reason (Busy).
Failure in_use(const Device &device, const std::string &advice = kEndUse);
void unmap_device(Call &call, const Device &device, bool force,
		  const std::string &advice = kEndUse);
// "mounted on /srv, used by dm-0", or "".
std::string users_of(const Device &device);

// A line for each row of kOutcomeKind, or what --output says.
void print_outcomes(Call &call, const std::vector<Json> &rows);

// Of `map --all`: what the server exports to that session (discovery.hh).
Exit map_all(Call &call, const MapRequest &wanted);

std::vector<Command> map_commands();
std::vector<Command> recover_commands();
std::vector<Command> discover_commands();
std::vector<Command> list_commands();
std::vector<Command> hca_commands();
std::vector<Command> session_commands();
std::vector<Command> server_commands();
std::vector<Command> server_stats_commands();
std::vector<Command> export_commands();
std::vector<Command> stats_commands();
std::vector<Command> diagnosis_commands();
std::vector<Command> config_commands();
std::vector<Command> generate_commands();
std::vector<Command> key_commands();
std::vector<Command> name_list_commands();
std::vector<Command> reservation_commands();

} // namespace rnbdadm
