// SPDX-License-Identifier: GPL-2.0
// The question and its answer in the kernel's form
// (Documentation/ABI/testing/sysfs-class-rnbd-client).
#include "discovery.hh"

#include "text.hh"

#include <algorithm>

#include <fmt/format.h>
#include <rnbd/pure/map_options.hh>

namespace rnbdadm {

namespace {

std::string question_of(const MapRequest &request)
{
	std::string line = "sessname=" + request.session;
	for (const std::string &path : request.paths)
		line += " path=" + path;
	if (request.port != rnbd::kDefaultPort)
		line += fmt::format(" dest_port={}", request.port);
	if (const std::string auth = wanted_auth(request.auth, request.key); !auth.empty())
		line += " auth=" + auth;
	if (!request.key.empty())
		line += " key=" + request.key;
	return line;
}

// "<sectors> <access> <state> <name>"; the name may have blanks.
std::optional<Discovered> parse_line(const std::string &line)
{
	std::vector<std::string> words;
	std::size_t from = 0;
	for (int i = 0; i < 3; i++) {
		const std::size_t blank = line.find(' ', from);
		if (blank == std::string::npos)
			return std::nullopt;
		words.push_back(line.substr(from, blank - from));
		from = blank + 1;
	}
	const Number sectors = parse_number(words[0]);
	if (!sectors || from == line.size())
		return std::nullopt;
	Discovered found;
	found.name = line.substr(from);
	found.access = words[1];
	found.size = *sectors * 512;
	for (const std::string &word : split(words[2], ","))
		if (word == "missing")
			found.size.reset();
		else if (word == "here")
			found.here = true;
		else if (word == "read" || word == "written")
			found.elsewhere = word;
	return found;
}

} // namespace

const Kind kDiscoveredKind = {
    "discovered",
    "discovered",
    {
	{"name", "NAME", Unit::Text, true, "name of the export, for map"},
	{"size", "SIZE", Unit::Bytes, true,
	 "bytes; null if the server's device is not there at present"},
	{"access", "ACCESS", Unit::Text, true,
	 "the most that may be asked for: ro, rw, migration or shared"},
	{"here", "HERE", Unit::Flag, true, "whether the session that asks has it open"},
	{"elsewhere", "ELSEWHERE", Unit::Text, true,
	 "whether another session has it open, and how: read or written; null if none has"},
	{"session", "SESSION", Unit::Text, false, "session that has asked"},
    },
};

std::optional<Discovery> parse_discovered(const std::string &text, const std::string &question)
{
	const std::vector<std::string> lines = split(text, "\n");
	if (lines.size() < 2)
		return std::nullopt;
	const std::string number = lines.front().substr(0, lines.front().find(' '));
	const std::string end = "end " + number + " ";
	if (number.empty() || lines.front() != number + " " + question ||
	    !lines.back().starts_with(end))
		return std::nullopt;
	Discovery discovery;
	discovery.paths_too = lines.back().substr(end.size()) == "paths";
	for (std::size_t i = 1; i + 1 < lines.size(); i++) {
		std::optional<Discovered> found = parse_line(lines[i]);
		if (!found)
			return std::nullopt;
		discovery.exports.push_back(*found);
	}
	return discovery;
}

std::optional<Discovery> discover(Call &call, const MapRequest &request)
{
	// Of others, who ask at the same time, each has his answer when he looks again.
	constexpr int kRounds = 5;
	if (!call.host.exists(kDiscover))
		throw Failure(Exit::Missing,
			      "the loaded module rnbd_client does not ask servers what they export",
			      "it is the kernel's own, or an older one: map needs the name");
	const std::string question = question_of(request);
	for (int i = 0; i < kRounds; i++) {
		call.write(
		    kDiscover, question, Action::Discover,
		    fmt::format("cannot learn what is exported to session {}", request.session),
		    request.paths);
		if (call.dry_run)
			return std::nullopt;
		if (auto discovery = parse_discovered(call.host.text(kDiscovered), question))
			return discovery;
	}
	throw Failure(Exit::Busy, fmt::format("{} has no answer to '{}'", kDiscovered, question),
		      "others ask at the same time: once more");
}

} // namespace rnbdadm
