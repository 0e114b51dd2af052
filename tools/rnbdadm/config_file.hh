// SPDX-License-Identifier: GPL-2.0
// Files of the configuration as sections of keys. The format is documented in rnbd.conf(5), which
// is made from the table of keys here.
#pragma once

#include "host.hh"

#include <list>
#include <map>

namespace rnbdadm {

// A key, and in which kinds of sections it may stand.
struct ConfigKey {
	const char *name;
	const char *value;
	bool defaults, session, device, exported;
	bool many;
	const char *help;
	std::string standard; // what holds without it; empty: it is needed
	bool key = false;     // of a section [key NAME]
};

const std::vector<ConfigKey> &config_keys();

// What is wrong in one section, or outside of all: then kind and name are empty.
struct Mistake {
	std::string place; // file:line, or a file
	std::string kind, name;
	std::string text;

	std::string line() const; // place: text
};

struct Entry {
	std::string key, value, place;
	bool bad = false; // its value is none
};

struct Section {
	std::string kind, name, place;
	std::vector<Entry> entries;
	std::string fault; // place of its first mistake, or empty

	const Entry *find(const std::string &key) const;
};

struct Sections {
	std::list<Section> sections;
	// The first of each kind and name; without [defaults].
	std::map<std::pair<std::string, std::string>, const Section *> by_name;
	std::vector<Mistake> mistakes;
};

// Texts of files that are not written yet, by path: they count instead of what is there.
using Drafts = std::map<std::string, std::string>;

Sections read_sections(const Host &host, const std::vector<std::string> &files,
		       const Drafts &drafts = {});

// "file:line" as its parts; the line is missing if the place is a whole file.
struct Place {
	std::string file;
	std::optional<std::uint64_t> line;
};
Place parse_place(const std::string &place);

} // namespace rnbdadm
