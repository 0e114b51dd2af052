// SPDX-License-Identifier: GPL-2.0
// What exists on this machine at one moment, read from sysfs (Documentation/ABI/testing). What a
// kernel does not offer (in-tree modules have fewer files) is an empty optional.
#pragma once

#include "failure.hh"
#include "host.hh"

namespace rnbdadm {

inline const std::string kRnbdClient = "/sys/class/rnbd-client";
inline const std::string kRnbdServer = "/sys/class/rnbd-server";
inline const std::string kRtrsClient = "/sys/class/rtrs-client";
inline const std::string kRtrsServer = "/sys/class/rtrs-server";
inline const std::string kMapDevice = "/sys/class/rnbd-client/ctl/map_device";
inline const std::string kMappings = "/sys/class/rnbd-client/ctl/devices"; // links
inline const std::string kExports = "/sys/kernel/config/rnbd/exports";

using Number = std::optional<std::uint64_t>;
using Integer = std::optional<std::int64_t>;
using Text = std::optional<std::string>;

// Counts of a path since it exists or was reset.
struct PathCounts {
	std::uint64_t reads = 0, read_bytes = 0, writes = 0, written_bytes = 0;
	Number in_flight, failed_over;
};

struct Path {
	bool server = false; // a path at the server's side
	std::string session;
	std::string name; // <source>@<destination>
	std::string folder;
	std::string source, destination;
	std::string hca;
	std::uint64_t port = 0;
	std::string state;  // connected or disconnected
	Number connections; // that carry I/O
	Number latency;	    // ns
	PathCounts counts;
	Integer reconnects, reconnects_failed;
	Number heartbeats_missed; // intervals since the server's last word
	Integer last_error;	  // of an attempt or a connection, a negative errno
	Text last_reason;	  // in words
	Number attempts;	  // in a row, automatic ones
	Integer next_attempt_ms;  // -1: there is none
	Text proven;		  // "<key>:<generation>", or none
	// What went wrong, by kind; empty if the module does not count it.
	std::vector<std::pair<std::string, std::uint64_t>> errors;

	bool connected() const { return state == "connected"; }
};

struct Session {
	bool server = false;
	std::string name;
	std::string folder;
	Number server_port; // where the server listens
	Text policy;	    // the long name: min-inflight ...
	Integer reconnect_attempts;
	Number request_timeout;	   // s
	Number heartbeat_interval; // ms
	Number heartbeat_missed_max;
	Number reconnect_delay; // s
	Integer tos;		// -1: none is asked for
	Number connections;	// as told: 0 is one for each CPU
	Number queue_depth;	// as told: 0 is the server's
	Text auth;		// whether it has to be proven who both sides are
	Text key;		// by which key; empty: none
	Number downgrades;	// attempts that went on without the proof that was offered
	std::vector<Path> paths;
	std::size_t devices = 0;

	std::size_t connected() const;
	// "connected", "degraded" (some paths are not) or "disconnected".
	std::string state() const;
};

// A disk that is mapped here.
struct Device {
	std::string name;   // rnbd0
	std::string folder; // /sys/block/rnbd0/rnbd
	std::string session;
	std::string device_path;
	std::string access;
	std::string state;	// init, open, closed, unmapped
	std::uint64_t size = 0; // bytes
	Integer poll_queues;
	Integer no_path_timeout; // s
	Text wwid;
	Number waiting;		  // requests that wait for a path
	Number oldest_request_ms; // age of the oldest request
	Number errors, retries;	  // requests that failed, that were sent again
	std::uint64_t reads = 0, read_bytes = 0, writes = 0, written_bytes = 0;
	std::uint64_t in_flight = 0;
	std::vector<std::string> mounts;  // where it or a partition of it is mounted, or "swap"
	std::vector<std::string> holders; // devices on top of it, such as dm-0
	std::string owner; // name in the configuration, "-" if mapped by hand with this program

	std::string node() const { return "/dev/" + name; }
};

// A block device of this machine that a client has open.
struct Opened {
	std::string device;
	std::string folder; // of this session below the device
	std::string session;
	std::string access;
	Text read_only;
	std::string client_path;
	// What the session has asked of it; empty of a module that does not count.
	Number reads, read_bytes, writes, written_bytes;
	Number flushes, discards, secure_erases, write_zeroes, errors;

	// By the device, with or without /dev/, or by the client's name of it.
	bool is_called(const std::string &word) const
	{
		return word == device || word == "/dev/" + device || word == client_path;
	}
	// The same, or by the session.
	bool is_meant(const std::string &word) const { return is_called(word) || word == session; }
};

// A name under which this machine offers a block device (configfs).
struct Export {
	std::string name;
	std::string folder;
	std::string device_path;
	std::string access;
	Text clients;
	Text keys;	// of which its clients have to have proven one
	Text addresses; // that all paths of a client have to come from
	Text local_use;
	Text enabled;
	Number users;  // sessions that have it open
	Number denied; // refusals by its rules
};

struct HcaPort {
	std::string hca;
	std::uint64_t port = 0;
	std::string state;	// active, down, init ...
	std::string link_layer; // InfiniBand, Ethernet
	std::string rate;
	std::string netdev;
	std::vector<std::string> gids;
	std::vector<std::string> addresses; // of the network interface, usable in a path
	std::string firmware;
	RdmaCounts held; // of the whole device; empty if the kernel does not tell
};

bool client_loaded(const Host &host);
bool server_loaded(const Host &host);
// Failure (Missing) that names the module and what to do.
void need_client(const Host &host);
void need_server(const Host &host);
// For what the kernel's own module, and older ones of ours, cannot do.
Failure too_old_server();
// Either of them, or of the transport's.
void need_modules(const Host &host);

std::vector<Device> read_devices(const Host &host);
// One of them, and that of a mapping, much cheaper than all: who uses it is not looked for.
Device read_device(const Host &host, const std::string &name);
std::optional<Device> find_device(const Host &host, const std::string &session,
				  const std::string &device_path);
std::vector<Session> read_sessions(const Host &host, bool server);
// One of them, whose devices nobody has counted; without paths if there is none of this name.
Session read_session(const Host &host, bool server, const std::string &name);
// Of both sides, the client's first.
std::vector<Session> all_sessions(const Host &host);
std::vector<Path> all_paths(const Host &host);
std::vector<Opened> read_opened(const Host &host);
// Lines "<kind> <number>" of a file; none if it cannot be read.
std::vector<std::pair<std::string, std::uint64_t>> read_kinds(const Host &host,
							      const std::string &path);
std::vector<Export> read_exports(const Host &host);
// One of them, which exists.
Export read_export(const Host &host, const std::string &name);
std::vector<HcaPort> read_hcas(const Host &host);

// Which mappings this program made, as the kernel was told with the mapping. Modules that take no
// owner: /run/rnbd/devices/<rnbdN> holds the mapping's identity and its
// name in the configuration. A record counts only while the disk is the mapping that it names.
std::string owner_of(const Host &host, const Device &device);
void record_owner(Host &host, const Device &device, const std::string &name);
void forget_owner(Host &host, const std::string &device);

} // namespace rnbdadm
