// SPDX-License-Identifier: GPL-2.0
// The one description of what each kind of object shows: columns of tables, keys of JSON, the JSON
// schema and the man page are made from it.
#pragma once

#include "model.hh"

#include <nlohmann/json.hpp>

namespace rnbdadm {

using Json = nlohmann::ordered_json;

// The version of the JSON documents. Keys may be added under the same number; a key that goes or
// changes its meaning makes a new one.
inline constexpr int kSchemaVersion = 1;

enum class Unit {
	Text,
	State, // text that is coloured
	Owner, // of a disk: text in which "-" and null are told apart
	Whom,  // a list of who may, in which none is all
	Count, // a number without unit
	Bytes,
	Nanoseconds,
	Milliseconds,
	Seconds,
	PerSecond, // requests
	BytesPerSecond,
	Flag,
	Counts, // an object of numbers by name
	List,	// of text
};

struct Field {
	const char *key;
	const char *title;
	Unit unit;
	bool shown; // in a table, unless --columns says otherwise
	const char *help;
};

struct Kind {
	const char *name;   // device
	const char *plural; // devices: the key of a list
	std::vector<Field> fields;
};

extern const Kind kDeviceKind, kSessionKind, kPathKind, kOpenedKind, kExportKind, kHcaKind,
    kDeviceRateKind, kPathRateKind, kOpenedRateKind, kFindingKind, kDifferenceKind, kOutcomeKind,
    kEventKind, kMistakeKind;

// All of them, for the schema and the man page.
std::vector<const Kind *> all_kinds();

Json to_json(const Device &device);
Json to_json(const Session &session);
Json to_json(const Path &path);
Json to_json(const Opened &opened);
Json to_json(const Export &e);
Json to_json(const HcaPort &port);

template <class T> std::vector<Json> to_rows(const std::vector<T> &objects)
{
	std::vector<Json> rows;
	for (const T &object : objects)
		rows.push_back(to_json(object));
	return rows;
}

// {"schema": ..., "version": 1}, which every document begins with.
Json document();

} // namespace rnbdadm
