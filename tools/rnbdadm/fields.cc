// SPDX-License-Identifier: GPL-2.0
// The one description of what each kind of object shows.
#include "fields.hh"

namespace rnbdadm {

const Kind kDeviceKind = {
    "device",
    "devices",
    {
	{"name", "NAME", Unit::Text, true, "name of the disk, as in /dev"},
	{"session", "SESSION", Unit::Text, true, "session that the device is mapped in"},
	{"device_path", "DEVICE PATH", Unit::Text, true, "name of the device on the server"},
	{"size", "SIZE", Unit::Bytes, true, "size in bytes"},
	{"access", "ACCESS", Unit::Text, true, "ro, rw or migration"},
	{"state", "STATE", Unit::State, true,
	 "open: usable; closed: the session is disconnected or the server closed it; init, "
	 "unmapped: "
	 "on its way"},
	{"in_flight", "IN FLIGHT", Unit::Count, false, "requests that wait for an answer"},
	{"reads", "READS", Unit::Count, false, "reads that have ended"},
	{"read_bytes", "READ", Unit::Bytes, false, "bytes read"},
	{"writes", "WRITES", Unit::Count, false, "writes that have ended"},
	{"written_bytes", "WRITTEN", Unit::Bytes, false, "bytes written"},
	{"poll_queues", "POLL QUEUES", Unit::Count, false, "queues for polled I/O"},
	{"no_path_timeout", "NO PATH TIMEOUT", Unit::Seconds, false,
	 "seconds that I/O waits while no path is connected; null if the module has no such limit"},
	{"waiting_requests", "WAITING", Unit::Count, false,
	 "requests that wait for a path to come back; null if the module fails them at once"},
	{"oldest_request_ms", "OLDEST", Unit::Milliseconds, false,
	 "age of the oldest request; null if the module does not say"},
	{"errors", "ERRORS", Unit::Count, false,
	 "requests that ended with an error; null if the module does not count them"},
	{"retries", "RETRIES", Unit::Count, false,
	 "requests that lost their path and were sent again; null likewise"},
	{"wwid", "WWID", Unit::Text, false, "identity of the disk; null if the server gives none"},
	{"mounts", "MOUNTS", Unit::List, false, "where it or a partition of it is mounted"},
	{"holders", "HOLDERS", Unit::List, false, "block devices on top of it"},
	{"owner", "OWNER", Unit::Owner, false,
	 "name in the configuration; '-' (in tables: by hand) if mapped by hand with this program, "
	 "null (others) if by others"},
    },
};

const Kind kSessionKind = {
    "session",
    "sessions",
    {
	{"name", "NAME", Unit::Text, true, "name of the session"},
	{"side", "SIDE", Unit::Text, true, "client or server: what this machine is in it"},
	{"state", "STATE", Unit::State, true,
	 "connected, degraded (some paths are not connected) or disconnected"},
	{"paths", "PATHS", Unit::Count, true, "number of paths"},
	{"paths_connected", "CONNECTED", Unit::Count, true, "number of paths that are connected"},
	{"devices", "DEVICES", Unit::Count, true, "number of devices mapped through it"},
	{"policy", "POLICY", Unit::Text, true, "how a request chooses its path"},
	{"reconnect_attempts", "ATTEMPTS", Unit::Count, false,
	 "attempts to connect before a path gives up; -1 is for ever"},
	{"request_timeout", "REQUEST TIMEOUT", Unit::Seconds, false,
	 "seconds that a request waits before its path has to show life; 0 is for ever"},
	{"heartbeat_interval_ms", "HEARTBEAT", Unit::Milliseconds, false,
	 "milliseconds between heartbeats"},
	{"heartbeat_missed_max", "MISSED MAX", Unit::Count, false,
	 "unanswered heartbeats before a path counts as lost"},
    },
};

const Kind kPathKind = {
    "path",
    "paths",
    {
	{"session", "SESSION", Unit::Text, true, "session of the path"},
	{"side", "SIDE", Unit::Text, false, "client or server"},
	{"name", "NAME", Unit::Text, false, "name of the path: source@destination"},
	{"source", "SOURCE", Unit::Text, true, "address of the client"},
	{"destination", "DESTINATION", Unit::Text, true, "address of the server"},
	{"hca", "HCA", Unit::Text, true, "RDMA device of this machine"},
	{"port", "PORT", Unit::Count, true, "port of the RDMA device"},
	{"state", "STATE", Unit::State, true, "connected or disconnected"},
	{"latency_ns", "LATENCY", Unit::Nanoseconds, true,
	 "time to the answer of the last heartbeat; null on the server"},
	{"in_flight", "IN FLIGHT", Unit::Count, true, "requests that wait for an answer"},
	{"reads", "READS", Unit::Count, false, "reads"},
	{"read_bytes", "READ", Unit::Bytes, true, "bytes read"},
	{"writes", "WRITES", Unit::Count, false, "writes"},
	{"written_bytes", "WRITTEN", Unit::Bytes, true, "bytes written"},
	{"failed_over", "FAILED OVER", Unit::Count, false,
	 "requests that came from another path which was lost"},
	{"reconnects", "RECONNECTS", Unit::Count, true, "times the path has connected again"},
	{"reconnects_failed", "FAILED", Unit::Count, false, "attempts to do so that failed"},
	{"errors", "ERRORS", Unit::Counts, false,
	 "what went wrong, a number for each kind; null if the module does not count it"},
    },
};

const Kind kOpenedKind = {
    "opened",
    "opened",
    {
	{"device", "DEVICE", Unit::Text, true, "block device of this machine"},
	{"session", "SESSION", Unit::Text, true, "session that has it open"},
	{"access", "ACCESS", Unit::Text, true, "ro, rw or migration"},
	{"read_only", "READ-ONLY", Unit::Flag, true, "whether writes are refused"},
	{"client_path", "CLIENT'S NAME", Unit::Text, true, "name by which the client asked for it"},
    },
};

const Kind kExportKind = {
    "export",
    "exports",
    {
	{"name", "NAME", Unit::Text, true, "name that clients use"},
	{"device_path", "DEVICE PATH", Unit::Text, true, "block device of this machine"},
	{"access", "ACCESS", Unit::Text, true,
	 "the most that a client may do: ro, rw or migration"},
	{"clients", "CLIENTS", Unit::Text, true, "sessions that may use it; null or empty for all"},
	{"addresses", "ADDRESSES", Unit::Text, true,
	 "addresses that clients have to come from; null or empty for all"},
	{"users", "USERS", Unit::Count, true, "sessions that have it open"},
	{"enabled", "ENABLED", Unit::Flag, false, "whether clients can open it"},
	{"denied", "DENIED", Unit::Count, false, "how often its rules refused a client"},
    },
};

const Kind kHcaKind = {
    "hca",
    "hcas",
    {
	{"hca", "HCA", Unit::Text, true, "name of the RDMA device"},
	{"port", "PORT", Unit::Count, true, "number of the port"},
	{"state", "STATE", Unit::State, true, "active if it can be used"},
	{"link_layer", "LINK", Unit::Text, true, "InfiniBand or Ethernet (RoCE)"},
	{"rate", "RATE", Unit::Text, true, "as the driver says"},
	{"netdev", "NETDEV", Unit::Text, true, "its network interface"},
	{"addresses", "ADDRESSES", Unit::List, true, "addresses that can serve in a path"},
	{"gids", "GIDS", Unit::List, false, "its GIDs"},
	{"firmware", "FIRMWARE", Unit::Text, false, "version of its firmware"},
    },
};

const Kind kDeviceRateKind = {
    "device_rate",
    "device_rates",
    {
	{"name", "NAME", Unit::Text, true, "name of the disk"},
	{"read_rate", "READS/s", Unit::PerSecond, true, "reads for each second"},
	{"read_bytes_rate", "READ/s", Unit::BytesPerSecond, true, "bytes read for each second"},
	{"write_rate", "WRITES/s", Unit::PerSecond, true, "writes for each second"},
	{"written_bytes_rate", "WRITTEN/s", Unit::BytesPerSecond, true,
	 "bytes written for each second"},
	{"in_flight", "IN FLIGHT", Unit::Count, true, "requests that wait, at the end of the time"},
	{"state", "STATE", Unit::State, true, "state of the device"},
    },
};

const Kind kPathRateKind = {
    "path_rate",
    "path_rates",
    {
	{"session", "SESSION", Unit::Text, true, "session of the path"},
	{"name", "PATH", Unit::Text, true, "name of the path"},
	{"read_rate", "READS/s", Unit::PerSecond, true, "reads for each second"},
	{"read_bytes_rate", "READ/s", Unit::BytesPerSecond, true, "bytes read for each second"},
	{"write_rate", "WRITES/s", Unit::PerSecond, true, "writes for each second"},
	{"written_bytes_rate", "WRITTEN/s", Unit::BytesPerSecond, true,
	 "bytes written for each second"},
	{"in_flight", "IN FLIGHT", Unit::Count, true, "requests that wait, at the end of the time"},
	{"p50_ms", "P50", Unit::Milliseconds, true,
	 "half of the requests took less; upper end of the kernel's class of time"},
	{"p99_ms", "P99", Unit::Milliseconds, true, "99 of 100 took less"},
	{"state", "STATE", Unit::State, true, "connected or disconnected"},
    },
};

const Kind kFindingKind = {
    "finding",
    "findings",
    {
	{"check", "CHECK", Unit::Text, true, "what was looked at"},
	{"verdict", "VERDICT", Unit::State, true, "ok, note or problem"},
	{"text", "FOUND", Unit::Text, true, "what was found"},
	{"advice", "ADVICE", Unit::Text, false, "what to do about it"},
    },
};

const Kind kDifferenceKind = {
    "difference",
    "differences",
    {
	{"object", "OBJECT", Unit::Text, true, "name of the object"},
	{"key", "KEY", Unit::Text, true, "what differs; 'mapping' if it is there on one side only"},
	{"configured", "CONFIGURED", Unit::Text, true, "what the configuration wants"},
	{"running", "RUNNING", Unit::Text, true, "what runs"},
    },
};

const Kind kOutcomeKind = {
    "outcome",
    "outcomes",
    {
	{"object", "OBJECT", Unit::Text, true, "device or export"},
	{"name", "NAME", Unit::Text, true, "its name in the configuration"},
	{"result", "RESULT", Unit::Text, true,
	 "mapped, exported, remapped, changed, unchanged or failed"},
    },
};

const Kind kEventKind = {
    "event",
    "events",
    {
	{"action", "ACTION", Unit::Text, true, "add, change, remove ..."},
	{"subsystem", "SUBSYSTEM", Unit::Text, true,
	 "block, rnbd-client, rtrs-client, infiniband ..."},
	{"object", "OBJECT", Unit::Text, true, "name of the device"},
	{"properties", "PROPERTIES", Unit::Text, true, "what the kernel adds to the event"},
    },
};

std::vector<const Kind *> all_kinds()
{
	return {&kDeviceKind,  &kSessionKind,	 &kPathKind,	   &kOpenedKind,
		&kExportKind,  &kHcaKind,	 &kDeviceRateKind, &kPathRateKind,
		&kFindingKind, &kDifferenceKind, &kOutcomeKind,	   &kEventKind};
}

namespace {

template <class T> Json or_null(const std::optional<T> &value)
{
	return value ? Json(*value) : Json();
}

Json text_or_null(const std::string &text)
{
	return text.empty() ? Json() : Json(text);
}

} // namespace

Json to_json(const Device &d)
{
	Json j;
	j["name"] = d.name;
	j["session"] = d.session;
	j["device_path"] = d.device_path;
	j["size"] = d.size;
	j["access"] = d.access;
	j["state"] = d.state;
	j["in_flight"] = d.in_flight;
	j["reads"] = d.reads;
	j["read_bytes"] = d.read_bytes;
	j["writes"] = d.writes;
	j["written_bytes"] = d.written_bytes;
	j["poll_queues"] = or_null(d.poll_queues);
	j["no_path_timeout"] = or_null(d.no_path_timeout);
	j["waiting_requests"] = or_null(d.waiting);
	j["oldest_request_ms"] = or_null(d.oldest_request_ms);
	j["errors"] = or_null(d.errors);
	j["retries"] = or_null(d.retries);
	j["wwid"] = or_null(d.wwid);
	j["mounts"] = d.mounts;
	j["holders"] = d.holders;
	j["owner"] = text_or_null(d.owner);
	return j;
}

Json to_json(const Session &s)
{
	Json j;
	j["name"] = s.name;
	j["side"] = s.server ? "server" : "client";
	j["state"] = s.state();
	j["paths"] = s.paths.size();
	j["paths_connected"] = s.connected();
	j["devices"] = s.devices;
	j["policy"] = or_null(s.policy);
	j["reconnect_attempts"] = or_null(s.reconnect_attempts);
	j["request_timeout"] = or_null(s.request_timeout);
	j["heartbeat_interval_ms"] = or_null(s.heartbeat_interval);
	j["heartbeat_missed_max"] = or_null(s.heartbeat_missed_max);
	return j;
}

Json to_json(const Path &p)
{
	Json j;
	j["session"] = p.session;
	j["side"] = p.server ? "server" : "client";
	j["name"] = p.name;
	j["source"] = p.source;
	j["destination"] = p.destination;
	j["hca"] = p.hca;
	j["port"] = p.port;
	j["state"] = p.state;
	j["latency_ns"] = or_null(p.latency);
	j["in_flight"] = or_null(p.counts.in_flight);
	j["reads"] = p.counts.reads;
	j["read_bytes"] = p.counts.read_bytes;
	j["writes"] = p.counts.writes;
	j["written_bytes"] = p.counts.written_bytes;
	j["failed_over"] = or_null(p.counts.failed_over);
	j["reconnects"] = or_null(p.reconnects);
	j["reconnects_failed"] = or_null(p.reconnects_failed);
	j["errors"] = Json();
	for (const auto &[kind, count] : p.errors)
		j["errors"][kind] = count;
	return j;
}

Json to_json(const Opened &o)
{
	Json j;
	j["device"] = o.device;
	j["session"] = o.session;
	j["access"] = o.access;
	j["read_only"] = o.read_only ? Json(*o.read_only == "1") : Json();
	j["client_path"] = o.client_path;
	return j;
}

Json to_json(const Export &e)
{
	Json j;
	j["name"] = e.name;
	j["device_path"] = e.device_path;
	j["access"] = e.access;
	j["clients"] = or_null(e.clients);
	j["addresses"] = or_null(e.addresses);
	j["users"] = or_null(e.users);
	j["denied"] = or_null(e.denied);
	j["enabled"] = e.enabled ? Json(*e.enabled == "1") : Json();
	return j;
}

Json to_json(const HcaPort &p)
{
	Json j;
	j["hca"] = p.hca;
	j["port"] = p.port;
	j["state"] = p.state;
	j["link_layer"] = p.link_layer;
	j["rate"] = p.rate;
	j["netdev"] = text_or_null(p.netdev);
	j["addresses"] = p.addresses;
	j["gids"] = p.gids;
	j["firmware"] = text_or_null(p.firmware);
	return j;
}

Json document()
{
	Json j;
	j["schema"] = "rnbdadm";
	j["version"] = kSchemaVersion;
	return j;
}

} // namespace rnbdadm
