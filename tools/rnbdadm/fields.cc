// SPDX-License-Identifier: GPL-2.0
// The one description of what each kind of object shows.
#include "fields.hh"

#include "discovery.hh"
#include "keys.hh"
#include "name_lists.hh"
#include "reservations.hh"

namespace rnbdadm {

namespace {

template <class T> Json json_of(const T &value)
{
	return Json(value);
}

template <class T> Json json_of(const std::optional<T> &value)
{
	return value ? Json(*value) : Json();
}

// A field and where its value comes from: a member, a function of the object, or one beside it.
template <class T> struct Row {
	template <class Source>
	Row(const char *key, const char *title, Unit unit, bool shown, const char *help,
	    Source source)
	    : field{key, title, unit, shown, help},
	      value([source](const T &object) { return json_of(std::invoke(source, object)); })
	{
	}

	Field field;
	std::function<Json(const T &)> value;
};

template <class T> using Table = std::vector<Row<T>>;

template <class T> std::vector<Field> fields_of(const Table<T> &table)
{
	std::vector<Field> fields;
	for (const Row<T> &row : table)
		fields.push_back(row.field);
	return fields;
}

template <class T> Json row_of(const Table<T> &table, const T &object)
{
	Json j;
	for (const Row<T> &row : table)
		j[row.field.key] = row.value(object);
	return j;
}

template <class T> std::string side_of(const T &object)
{
	return object.server ? "server" : "client";
}

template <auto member>
auto text_or_null = [](const auto &object) {
	const std::string &text = object.*member;
	return text.empty() ? Text() : Text(text);
};

template <auto member>
auto flag = [](const auto &object) {
	const Text &text = object.*member;
	return text ? std::optional<bool>(*text == "1") : std::nullopt;
};

template <auto member>
auto count = [](const Path &path) {
	return path.counts.*member;
};

Json errors_of(const Path &path)
{
	Json j;
	for (const auto &[kind, number] : path.errors)
		j[kind] = number;
	return j;
}

// The kernel's -1 is no time.
Json next_attempt_of(const Path &path)
{
	const Integer &ms = path.next_attempt_ms;
	return ms && *ms >= 0 ? Json(*ms) : Json();
}

const Table<Device> kTableDevice = {
    {"name", "NAME", Unit::Text, true, "name of the disk, as in /dev", &Device::name},
    {"session", "SESSION", Unit::Text, true, "session that the device is mapped in",
     &Device::session},
    {"device_path", "DEVICE PATH", Unit::Text, true, "name of the device on the server",
     &Device::device_path},
    {"size", "SIZE", Unit::Bytes, true, "size in bytes", &Device::size},
    {"access", "ACCESS", Unit::Text, true, "ro, rw, migration or shared", &Device::access},
    {"state", "STATE", Unit::State, true,
     "open: usable; closed: the session is disconnected or the server closed it; init, "
     "unmapped: "
     "on its way",
     &Device::state},
    {"in_flight", "IN FLIGHT", Unit::Count, false, "requests that wait for an answer",
     &Device::in_flight},
    {"reads", "READS", Unit::Count, false, "reads that have ended", &Device::reads},
    {"read_bytes", "READ", Unit::Bytes, false, "bytes read", &Device::read_bytes},
    {"writes", "WRITES", Unit::Count, false, "writes that have ended", &Device::writes},
    {"written_bytes", "WRITTEN", Unit::Bytes, false, "bytes written", &Device::written_bytes},
    {"poll_queues", "POLL QUEUES", Unit::Count, false, "queues for polled I/O",
     &Device::poll_queues},
    {"no_path_timeout", "NO PATH TIMEOUT", Unit::Seconds, false,
     "seconds that I/O waits while no path is connected; null if the module has no such limit",
     &Device::no_path_timeout},
    {"waiting_requests", "WAITING", Unit::Count, false,
     "requests that wait for a path to come back; null if the module fails them at once",
     &Device::waiting},
    {"oldest_request_ms", "OLDEST", Unit::Milliseconds, false,
     "age of the oldest request; null if the module does not say", &Device::oldest_request_ms},
    {"errors", "ERRORS", Unit::Count, false,
     "requests that ended with an error; null if the module does not count them", &Device::errors},
    {"retries", "RETRIES", Unit::Count, false,
     "requests that lost their path and were sent again; null likewise", &Device::retries},
    {"wwid", "WWID", Unit::Text, false, "identity of the disk; null if the server gives none",
     &Device::wwid},
    {"mounts", "MOUNTS", Unit::List, false, "where it or a partition of it is mounted",
     &Device::mounts},
    {"holders", "HOLDERS", Unit::List, false, "block devices on top of it", &Device::holders},
    {"owner", "OWNER", Unit::Owner, false,
     "name in the configuration; '-' (in tables: by hand) if mapped by hand with this program, "
     "null (others) if by others",
     text_or_null<&Device::owner>},
};

} // namespace

const Kind kDeviceKind = {"device", "devices", fields_of(kTableDevice)};

namespace {

const Table<Session> kTableSession = {
    {"name", "NAME", Unit::Text, true, "name of the session", &Session::name},
    {"side", "SIDE", Unit::Text, true, "client or server: what this machine is in it",
     side_of<Session>},
    {"state", "STATE", Unit::State, true,
     "connected, degraded (some paths are not connected) or disconnected", &Session::state},
    {"paths", "PATHS", Unit::Count, true, "number of paths",
     [](const Session &s) {
	     return Json(s.paths.size());
     }},
    {"paths_connected", "CONNECTED", Unit::Count, true, "number of paths that are connected",
     &Session::connected},
    {"devices", "DEVICES", Unit::Count, true, "number of devices mapped through it",
     &Session::devices},
    {"server_port", "PORT", Unit::Count, false,
     "port of the server; null on the server and if the module does not tell it",
     &Session::server_port},
    {"policy", "POLICY", Unit::Text, true, "how a request chooses its path", &Session::policy},
    {"reconnect_attempts", "ATTEMPTS", Unit::Count, false,
     "attempts to connect before a path gives up; -1 is for ever", &Session::reconnect_attempts},
    {"request_timeout", "REQUEST TIMEOUT", Unit::Seconds, false,
     "seconds that a request waits before its path has to show life; 0 is for ever",
     &Session::request_timeout},
    {"heartbeat_interval_ms", "HEARTBEAT", Unit::Milliseconds, false,
     "milliseconds between heartbeats", &Session::heartbeat_interval},
    {"heartbeat_missed_max", "MISSED MAX", Unit::Count, false,
     "unanswered heartbeats before a path counts as lost", &Session::heartbeat_missed_max},
    {"connections", "CONNECTIONS", Unit::Count, false,
     "connections that each path was told to have; 0 is one for each CPU", &Session::connections},
    {"auth", "AUTH", Unit::Text, false,
     "whether both sides prove who they are: off, optional or required; null on the server and if "
     "the module does not tell it",
     &Session::auth},
    {"key", "KEY", Unit::Text, false, "name of the key by which they do; empty if there is none",
     &Session::key},
    {"downgrades", "DOWNGRADES", Unit::Count, false,
     "how often a path went on without the proof that it had offered, as auth optional allows; "
     "null "
     "on the server and if the module does not tell it",
     &Session::downgrades},
    {"reconnect_delay", "DELAY", Unit::Seconds, false,
     "seconds of the longest pause before a lost path tries to connect again",
     &Session::reconnect_delay},
    {"tos", "TOS", Unit::Count, false,
     "type of service of what its connections send; -1 is what the connection manager has",
     &Session::tos},
    {"queue_depth", "DEPTH", Unit::Count, false,
     "requests under way at once, as it was told; 0 is as many as the server takes",
     &Session::queue_depth},
};

} // namespace

const Kind kSessionKind = {"session", "sessions", fields_of(kTableSession)};

namespace {

const Table<Path> kTablePath = {
    {"session", "SESSION", Unit::Text, true, "session of the path", &Path::session},
    {"side", "SIDE", Unit::Text, false, "client or server", side_of<Path>},
    {"name", "NAME", Unit::Text, false, "name of the path: source@destination", &Path::name},
    {"source", "SOURCE", Unit::Text, true, "address of the client", &Path::source},
    {"destination", "DESTINATION", Unit::Text, true, "address of the server", &Path::destination},
    {"hca", "HCA", Unit::Text, true, "RDMA device of this machine", &Path::hca},
    {"port", "PORT", Unit::Count, true, "port of the RDMA device", &Path::port},
    {"state", "STATE", Unit::State, true, "connected or disconnected", &Path::state},
    {"connections", "CONNECTIONS", Unit::Count, false,
     "connections that carry I/O; null on the server", &Path::connections},
    {"latency_ns", "LATENCY", Unit::Nanoseconds, true,
     "time to the answer of the last heartbeat; null on the server", &Path::latency},
    {"in_flight", "IN FLIGHT", Unit::Count, true, "requests that wait for an answer",
     count<&PathCounts::in_flight>},
    {"reads", "READS", Unit::Count, false, "reads", count<&PathCounts::reads>},
    {"read_bytes", "READ", Unit::Bytes, true, "bytes read", count<&PathCounts::read_bytes>},
    {"writes", "WRITES", Unit::Count, false, "writes", count<&PathCounts::writes>},
    {"written_bytes", "WRITTEN", Unit::Bytes, true, "bytes written",
     count<&PathCounts::written_bytes>},
    {"failed_over", "FAILED OVER", Unit::Count, false,
     "requests that came from another path which was lost", count<&PathCounts::failed_over>},
    {"reconnects", "RECONNECTS", Unit::Count, true, "times the path has connected again",
     &Path::reconnects},
    {"reconnects_failed", "FAILED", Unit::Count, false, "attempts to do so that failed",
     &Path::reconnects_failed},
    {"attempts", "ATTEMPTS", Unit::Count, false,
     "attempts in a row that it has begun by itself; null if the module does not tell it",
     &Path::attempts},
    {"next_attempt_ms", "NEXT", Unit::Milliseconds, false,
     "milliseconds to the next one; null if none is to come", next_attempt_of},
    {"last_reason", "LAST REASON", Unit::Text, false,
     "why it lost its last connection, or did not get one, in words; null if the module does not "
     "tell it",
     &Path::last_reason},
    {"proven", "PROVEN", Unit::Text, false,
     "key and generation by which both sides have proven who they are, or none; null if the "
     "module does not tell it",
     &Path::proven},
    {"errors", "ERRORS", Unit::Counts, false,
     "what went wrong, a number for each kind; null if the module does not count it", errors_of},
};

} // namespace

const Kind kPathKind = {"path", "paths", fields_of(kTablePath)};

namespace {

const Table<Opened> kTableOpened = {
    {"device", "DEVICE", Unit::Text, true, "block device of this machine", &Opened::device},
    {"session", "SESSION", Unit::Text, true, "session that has it open", &Opened::session},
    {"access", "ACCESS", Unit::Text, true, "ro, rw, migration or shared", &Opened::access},
    {"read_only", "READ-ONLY", Unit::Flag, true, "whether writes are refused",
     flag<&Opened::read_only>},
    {"client_path", "CLIENT'S NAME", Unit::Text, true, "name by which the client asked for it",
     &Opened::client_path},
    {"reads", "READS", Unit::Count, false,
     "reads that the session asked of it; null, as the next ones, if the module does not count",
     &Opened::reads},
    {"read_bytes", "READ", Unit::Bytes, false, "bytes read", &Opened::read_bytes},
    {"writes", "WRITES", Unit::Count, false, "writes", &Opened::writes},
    {"written_bytes", "WRITTEN", Unit::Bytes, false, "bytes written", &Opened::written_bytes},
    {"flushes", "FLUSHES", Unit::Count, false, "flushes of its write cache", &Opened::flushes},
    {"discards", "DISCARDS", Unit::Count, false, "discards of what is not used", &Opened::discards},
    {"secure_erases", "ERASES", Unit::Count, false, "secure erases", &Opened::secure_erases},
    {"write_zeroes", "ZEROES", Unit::Count, false, "ranges that the device filled with zeros",
     &Opened::write_zeroes},
    {"errors", "ERRORS", Unit::Count, false, "requests that the device failed", &Opened::errors},
};

} // namespace

const Kind kOpenedKind = {"opened", "opened", fields_of(kTableOpened)};

namespace {

const Table<Export> kTableExport = {
    {"name", "NAME", Unit::Text, true, "name that clients use", &Export::name},
    {"device_path", "DEVICE PATH", Unit::Text, true, "block device of this machine",
     &Export::device_path},
    {"access", "ACCESS", Unit::Text, true,
     "the most that a client may do: ro, rw, migration or shared", &Export::access},
    {"clients", "CLIENTS", Unit::Whom, true, "sessions that may use it; null or empty for all",
     &Export::clients},
    {"keys", "KEYS", Unit::Text, true,
     "keys of which its clients have to have proven one, '*' for any; null if no proof is needed",
     [](const Export &e) {
	     return e.keys.value_or("").empty() ? Json() : Json(*e.keys);
     }},
    {"addresses", "ADDRESSES", Unit::Whom, true,
     "addresses that clients have to come from; null or empty for all", &Export::addresses},
    {"users", "USERS", Unit::Count, true, "sessions that have it open", &Export::users},
    {"local_use", "LOCAL USE", Unit::Text, false,
     "exclusive or shared: whether this machine may use the device, too", &Export::local_use},
    {"enabled", "ENABLED", Unit::Flag, true, "whether clients can open it", flag<&Export::enabled>},
    {"denied", "DENIED", Unit::Count, false, "how often its rules refused a client",
     &Export::denied},
};

} // namespace

const Kind kExportKind = {"export", "exports", fields_of(kTableExport)};

namespace {

auto held(const char *kind)
{
	return [kind](const HcaPort &port) {
		auto found = port.held.find(kind);
		return found == port.held.end() ? Json() : Json(found->second);
	};
}

const Table<HcaPort> kTableHca = {
    {"hca", "HCA", Unit::Text, true, "name of the RDMA device", &HcaPort::hca},
    {"port", "PORT", Unit::Count, true, "number of the port", &HcaPort::port},
    {"state", "STATE", Unit::State, true, "active if it can be used", &HcaPort::state},
    {"link_layer", "LINK", Unit::Text, true, "InfiniBand or Ethernet (RoCE)", &HcaPort::link_layer},
    {"rate", "RATE", Unit::Text, true, "as the driver says", &HcaPort::rate},
    {"netdev", "NETDEV", Unit::Text, true, "its network interface", text_or_null<&HcaPort::netdev>},
    {"addresses", "ADDRESSES", Unit::List, true, "addresses that can serve in a path",
     &HcaPort::addresses},
    {"gids", "GIDS", Unit::List, false, "its GIDs", &HcaPort::gids},
    {"firmware", "FIRMWARE", Unit::Text, false, "version of its firmware",
     text_or_null<&HcaPort::firmware>},
    {"queue_pairs", "QUEUE PAIRS", Unit::Count, false,
     "queue pairs that the device holds; null if the kernel does not tell", held("qp")},
    {"completion_queues", "COMPLETION QUEUES", Unit::Count, false, "completion queues likewise",
     held("cq")},
    {"memory_regions", "MEMORY REGIONS", Unit::Count, false, "memory regions likewise", held("mr")},
};

} // namespace

const Kind kHcaKind = {"hca", "hcas", fields_of(kTableHca)};

namespace {

const Table<Key> kTableKey = {
    {"name", "NAME", Unit::Text, true, "name of the key",
     [](const Key &key) {
	     return Json(key.id.name.c_str());
     }},
    {"generation", "GENERATION", Unit::Count, true, "which of its secrets it is",
     [](const Key &key) {
	     return Json(key.id.generation.value);
     }},
    {"fingerprint", "FINGERPRINT", Unit::Text, true,
     "digest by which two secrets are compared; null if no good file has it", &Key::fingerprint},
    {"on_disk", "ON DISK", Unit::Flag, true, "whether it is in /etc/rnbd/keys.d",
     [](const Key &key) {
	     return Json(key.on_disk);
     }},
    {"in_kernel", "IN KERNEL", Unit::Flag, true,
     "whether the kernel has it; null while rtrs_core is not loaded", &Key::in_kernel},
    {"problem", "PROBLEM", Unit::Text, true, "why its file is refused; null if it is not",
     &Key::problem},
};

} // namespace

const Kind kKeyKind = {"key", "keys", fields_of(kTableKey)};

namespace {

const Table<NameList> kTableNameList = {
    {"key", "KEY", Unit::Text, true, "name of the key", &NameList::key},
    {"clients", "CLIENTS", Unit::List, true, "sessions that it opens, and nobody else",
     &NameList::clients},
};

} // namespace

const Kind kNameListKind = {"key_list", "key_lists", fields_of(kTableNameList)};

namespace {

const Table<Registration> kTableRegistration = {
    {"device", "DISK", Unit::Text, true, "disk of this machine", &Registration::device},
    {"type", "RESERVATION", Unit::Text, true, "type of the disk's reservation, or none",
     &Registration::type},
    {"generation", "GENERATION", Unit::Count, false, "how often registrations have changed",
     &Registration::generation},
    {"session", "SESSION", Unit::Text, true, "session of the client that is registered",
     &Registration::session},
    {"key", "KEY", Unit::Text, true, "by which it is registered, hexadecimal", &Registration::key},
    {"holder", "HOLDER", Unit::Flag, true, "whether it holds the reservation",
     &Registration::holder},
    {"proven", "PROVEN", Unit::Text, false,
     "name of the key that its client has proven; null if none", &Registration::proven},
};

} // namespace

const Kind kReservationKind = {"reservation", "reservations", fields_of(kTableRegistration)};

std::vector<const Kind *> all_kinds()
{
	return {&kDeviceKind,	  &kSessionKind,    &kPathKind,	      &kOpenedKind,
		&kExportKind,	  &kHcaKind,	    &kDeviceRateKind, &kPathRateKind,
		&kOpenedRateKind, &kFindingKind,    &kDifferenceKind, &kOutcomeKind,
		&kEventKind,	  &kMistakeKind,    &kKeyKind,	      &kNameListKind,
		&kDiscoveredKind, &kReservationKind};
}

Json to_json(const Device &object)
{
	return row_of(kTableDevice, object);
}

Json to_json(const Session &object)
{
	return row_of(kTableSession, object);
}

Json to_json(const Path &object)
{
	return row_of(kTablePath, object);
}

Json to_json(const Opened &object)
{
	return row_of(kTableOpened, object);
}

Json to_json(const Export &object)
{
	return row_of(kTableExport, object);
}

Json to_json(const HcaPort &object)
{
	return row_of(kTableHca, object);
}

Json to_json(const Registration &object)
{
	return row_of(kTableRegistration, object);
}

Json to_json(const NameList &object)
{
	return row_of(kTableNameList, object);
}

Json to_json(const Key &object)
{
	return row_of(kTableKey, object);
}

Json document()
{
	Json j;
	j["schema"] = "rnbdadm";
	j["version"] = kSchemaVersion;
	return j;
}

} // namespace rnbdadm
