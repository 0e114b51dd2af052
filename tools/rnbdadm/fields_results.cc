// SPDX-License-Identifier: GPL-2.0
// What commands find, count and do: fields of rows that are no objects of the kernel.
#include "fields.hh"

namespace rnbdadm {

namespace {

// What statistics tell of devices, of paths and of what clients have open alike.
const std::vector<Field> kRates = {
    {"read_rate", "READS/s", Unit::PerSecond, true, "reads for each second"},
    {"read_bytes_rate", "READ/s", Unit::BytesPerSecond, true, "bytes read for each second"},
    {"write_rate", "WRITES/s", Unit::PerSecond, true, "writes for each second"},
    {"written_bytes_rate", "WRITTEN/s", Unit::BytesPerSecond, true,
     "bytes written for each second"},
};

// What only a client knows.
const std::vector<Field> kWaits = {
    {"in_flight", "IN FLIGHT", Unit::Count, true, "requests that wait, at the end of the time"},
    {"p50_ms", "P50", Unit::Milliseconds, true,
     "half of the requests took less; upper end of the kernel's class of time"},
    {"p99_ms", "P99", Unit::Milliseconds, true, "99 of 100 took less"},
};

std::vector<Field> together(std::initializer_list<std::vector<Field>> parts)
{
	std::vector<Field> all;
	for (const std::vector<Field> &part : parts)
		all.insert(all.end(), part.begin(), part.end());
	return all;
}

} // namespace

const Kind kDeviceRateKind = {
    "device_rate", "device_rates",
    together({{{"name", "NAME", Unit::Text, true, "name of the disk"}},
	      kRates,
	      kWaits,
	      {{"oldest_request_ms", "OLDEST", Unit::Milliseconds, true,
		"age of the oldest request, at the end of the time"},
	       {"state", "STATE", Unit::State, true, "state of the device"}}})};

const Kind kPathRateKind = {
    "path_rate", "path_rates",
    together({{{"session", "SESSION", Unit::Text, true, "session of the path"},
	       {"name", "PATH", Unit::Text, true, "name of the path"}},
	      kRates,
	      kWaits,
	      {{"state", "STATE", Unit::State, true, "connected or disconnected"}}})};

const Kind kOpenedRateKind = {
    "opened_rate", "opened_rates",
    together({{{"device", "DEVICE", Unit::Text, true, "block device of this machine"},
	       {"session", "SESSION", Unit::Text, true, "session that has it open"}},
	      kRates,
	      {{"other_rate", "OTHERS/s", Unit::PerSecond, true,
		"flushes, discards, erases and zeroing for each second"},
	       {"new_errors", "ERRORS", Unit::Count, true, "requests that failed in that time"}}})};

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
	{"object", "OBJECT", Unit::Text, true, "device, export or key"},
	{"name", "NAME", Unit::Text, true,
	 "its name in the configuration, or of a disk that is unmapped its own; of a key with its "
	 "generation"},
	{"result", "RESULT", Unit::Text, true,
	 "mapped, exported, loaded, remapped, changed, unchanged, unmapped, removed, failed, or "
	 "faulty if its section has a mistake"},
    },
};

const Kind kEventKind = {
    "event",
    "events",
    {
	{"time", "TIME", Unit::Text, true, "when it came, with the distance from UTC"},
	{"event", "EVENT", Unit::Text, true,
	 "path-lost, path-back, path-gave-up, path-unproven, session-lost, session-back, "
	 "disk-offline, "
	 "disk-online, disk-slow, disk-answers, disk-resize, session-add, hca-remove ..."},
	{"action", "ACTION", Unit::Text, true, "add, change, remove ..."},
	{"subsystem", "SUBSYSTEM", Unit::Text, true,
	 "block, rnbd-client, rtrs-client, infiniband ..."},
	{"object", "OBJECT", Unit::Text, true, "name of the device"},
	{"session", "SESSION", Unit::Text, true, "its session; null if it has none"},
	{"path", "PATH", Unit::Text, true, "the path; null if it is about none"},
	{"reason", "REASON", Unit::Text, true,
	 "what has gone wrong, in words; null if nothing has, or the module does not tell it"},
	{"properties", "PROPERTIES", Unit::Text, true, "what the kernel adds to the event"},
    },
};

const Kind kMistakeKind = {
    "mistake",
    "mistakes",
    {
	{"file", "FILE", Unit::Text, true, "file of the configuration"},
	{"line", "LINE", Unit::Count, true, "line in it; null if it cannot be read"},
	{"section", "SECTION", Unit::Text, true, "what it costs; null outside of sections"},
	{"text", "MISTAKE", Unit::Text, true, "what is wrong"},
    },
};

} // namespace rnbdadm
