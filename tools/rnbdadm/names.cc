// SPDX-License-Identifier: GPL-2.0
// Objects by whatever name an administrator has at hand.
#include "names.hh"

#include "failure.hh"
#include "text.hh"
#include "words.hh"

#include <algorithm>
#include <cctype>
#include <climits>

#include <arpa/inet.h>
#include <net/if.h>
#include <fmt/format.h>
#include <rtrs/pure/address.hh>
#include <rtrs/wire/session_name.hh>

namespace rnbdadm {

namespace {

// How an object can be called; the label is its own name, and wins over the others.
struct Names {
	std::string label;
	std::vector<std::string> others;
};

// A path or an address as the kernel has it, also behind a session; what is neither as it is.
std::string respelled(const std::string &word)
{
	const std::size_t bracket = word.find(":[");
	try {
		if (bracket != std::string::npos && !word.starts_with("ip:") &&
		    !word.starts_with("gid:"))
			return word.substr(0, bracket + 1) +
			       canonical_address(word.substr(bracket + 1));
		return canonical_path(word);
	} catch (const Failure &) {
		return word;
	}
}

std::vector<std::size_t> called(const std::vector<Names> &all, const std::string &word)
{
	std::vector<std::size_t> own, other;
	for (std::size_t i = 0; i < all.size(); i++) {
		if (all[i].label == word)
			own.push_back(i);
		if (std::count(all[i].others.begin(), all[i].others.end(), word))
			other.push_back(i);
	}
	return own.empty() ? other : own;
}

std::vector<std::size_t> fitting(const std::vector<Names> &all, const std::string &word)
{
	const std::vector<std::size_t> found = called(all, word);
	return found.empty() && !all.empty() ? called(all, respelled(word)) : found;
}

// A disk that is not there would cost the resolver's time.
bool is_disk(const std::string &word)
{
	constexpr std::string_view kDisk = "rnbd";
	return word.starts_with(kDisk) && word.size() > kDisk.size() &&
	       std::all_of(word.begin() + kDisk.size(), word.end(),
			   [](unsigned char c) { return std::isdigit(c); });
}

// The same; if nothing has that name, those that have an address of the machine that does.
std::vector<std::size_t> fitting(const Host &host, const std::vector<Names> &all,
				 const std::string &word)
{
	std::vector<std::size_t> found = fitting(all, word);
	if (!found.empty() || all.empty() || !is_host_name(word) || is_disk(word))
		return found;
	for (const std::string &address : host.resolve(word).addresses)
		for (std::size_t i : fitting(all, address))
			if (!std::count(found.begin(), found.end(), i))
				found.push_back(i);
	std::sort(found.begin(), found.end());
	return found;
}

[[noreturn]] void not_found(const char *kind, const std::vector<Names> &all,
			    const std::string &word)
{
	std::vector<std::string> candidates;
	for (const Names &names : all) {
		candidates.push_back(names.label);
		candidates.insert(candidates.end(), names.others.begin(), names.others.end());
	}
	std::string hint;
	if (all.empty())
		hint = fmt::format("there is no {} at all", kind);
	throw Failure(
	    Exit::NotFound,
	    fmt::format("there is no {} '{}'{}", kind, word, did_you_mean(word, candidates)), hint);
}

std::size_t one(const char *kind, const std::vector<Names> &all, const std::string &word,
		const std::vector<std::size_t> &found)
{
	if (found.empty())
		not_found(kind, all, word);
	if (found.size() > 1) {
		std::string list;
		for (std::size_t i : found)
			list += (list.empty() ? "" : "\n") + all[i].label;
		throw Failure(Exit::Ambiguous,
			      fmt::format("'{}' can be each of these, say which {}:", word, kind),
			      list);
	}
	return found[0];
}

std::string bare(const std::string &address)
{
	std::size_t colon = address.find(':');
	std::string prefix = address.substr(0, colon + 1);
	return prefix == "ip:" || prefix == "gid:" ? address.substr(colon + 1) : address;
}

// The kernel would only say EINVAL. An IPv6 address may have a scope, such as %eth0.
bool is_literal(const std::string &text)
{
	unsigned char bytes[16];
	return inet_pton(AF_INET, text.c_str(), bytes) == 1 ||
	       inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), bytes) == 1;
}

bool same_family(const std::string &a, const std::string &b)
{
	auto kind = [](const std::string &address) {
		return address.starts_with("gid:")		      ? 'g'
		       : bare(address).find(':') != std::string::npos ? '6'
								      : '4';
	};
	return kind(a) == kind(b);
}

std::vector<Names> names_of(const std::vector<Device> &devices)
{
	std::vector<Names> all;
	for (const Device &d : devices) {
		Names names{d.name,
			    {d.node(), d.device_path, d.session + ":" + d.device_path,
			     d.device_path + "@" + d.session,
			     flat(d.device_path) + "@" + d.session}};
		if (!d.owner.empty() && d.owner != "-")
			names.others.push_back(d.owner);
		if (d.wwid && !d.wwid->empty())
			names.others.push_back(*d.wwid);
		all.push_back(names);
	}
	return all;
}

std::vector<Path> paths_of(const std::vector<Session> &sessions)
{
	std::vector<Path> all;
	for (const Session &session : sessions)
		all.insert(all.end(), session.paths.begin(), session.paths.end());
	return all;
}

std::vector<Names> names_of(const std::vector<Path> &paths)
{
	std::vector<Names> all;
	for (const Path &p : paths) {
		std::string port = std::to_string(p.port);
		all.push_back(
		    {p.session + ":" + p.name,
		     {p.name, p.source + "," + p.destination,
		      bare(p.source) + "@" + bare(p.destination),
		      bare(p.source) + "," + bare(p.destination), p.session + ":" + port,
		      p.session + ":" + p.source, p.session + ":" + p.destination,
		      p.session + ":" + bare(p.source), p.session + ":" + bare(p.destination),
		      p.session + ":" + p.hca, p.hca + ":" + port, p.hca, p.source, p.destination,
		      bare(p.source), bare(p.destination)}});
	}
	return all;
}

} // namespace

Device one_device(const Host &host, const std::vector<Device> &devices, const std::string &word)
{
	const std::vector<Names> all = names_of(devices);
	std::vector<std::size_t> found = fitting(all, word);
	// One of the names that udev gives it, which depend on what lies on the disk, too.
	if (found.empty() && word.rfind("/dev/", 0) == 0)
		if (const std::string node = host.link(word); !node.empty())
			found = fitting(all, "/dev/" + node);
	return devices[one("device", all, word, found)];
}

Session one_session(const Host &host, const std::vector<Session> &sessions, const std::string &word)
{
	std::vector<Names> all;
	for (const Session &session : sessions) {
		Names names{session.name, {}};
		for (const Path &p : session.paths)
			for (const std::string &other :
			     {p.name, bare(p.source) + "@" + bare(p.destination), p.source,
			      p.destination, bare(p.source), bare(p.destination)})
				if (!std::count(names.others.begin(), names.others.end(), other))
					names.others.push_back(other);
		all.push_back(names);
	}
	return sessions[one("session", all, word, fitting(host, all, word))];
}

std::variant<Session, Device> session_or_device(const Host &host,
						const std::vector<Session> &sessions,
						const std::vector<Device> &devices,
						const std::string &word)
{
	for (const Session &session : sessions)
		if (session.name == word)
			return session;
	try {
		return one_device(host, devices, word);
	} catch (const Failure &no_device) {
		if (no_device.code() != Exit::NotFound)
			throw;
		try {
			return one_session(host, sessions, word);
		} catch (const Failure &no_session) {
			// The nearest name is more often a device's.
			if (no_session.code() == Exit::NotFound)
				throw no_device;
			throw;
		}
	}
}

Path one_path(const Host &host, const std::vector<Session> &sessions, const std::string &word)
{
	std::vector<Path> paths = paths_of(sessions);
	const std::vector<Names> all = names_of(paths);
	return paths[one("path", all, word, fitting(host, all, word))];
}

Path one_path(const std::vector<Session> &sessions, const std::string &word)
{
	std::vector<Path> paths = paths_of(sessions);
	const std::vector<Names> all = names_of(paths);
	return paths[one("path", all, word, fitting(all, word))];
}

std::vector<Path> some_paths(const Host &host, const std::vector<Session> &sessions,
			     const std::string &word)
{
	for (const Session &session : sessions)
		if (session.name == word && !session.paths.empty())
			return session.paths;
	std::vector<Path> paths = paths_of(sessions), chosen;
	std::vector<Names> all = names_of(paths);
	for (std::size_t i : fitting(host, all, word))
		chosen.push_back(paths[i]);
	if (chosen.empty())
		not_found("path", all, word);
	return chosen;
}

std::string normal_literal(const std::string &text)
{
	const std::size_t percent = std::min(text.find('%'), text.size());
	std::string zone = percent < text.size() ? text.substr(percent + 1) : "";
	unsigned char bytes[16];
	char normal[INET6_ADDRSTRLEN], interface[IF_NAMESIZE];
	if (inet_pton(AF_INET6, text.substr(0, percent).c_str(), bytes) != 1 ||
	    !inet_ntop(AF_INET6, bytes, normal, sizeof normal))
		return text;
	if (const auto number = parse_number(zone);
	    number && *number <= UINT_MAX &&
	    if_indextoname(static_cast<unsigned>(*number), interface))
		zone = interface;
	return normal + (percent < text.size() ? "%" + zone : "");
}

std::string without_brackets(const std::string &text)
{
	const std::size_t end = text.find(']');
	if (!text.starts_with('[') || end == std::string::npos || text.find(':') > end ||
	    (end + 1 < text.size() && text[end + 1] != '/'))
		return text;
	return text.substr(1, end - 1) + text.substr(end + 1);
}

std::string canonical_address(const std::string &word)
{
	std::string text = word;
	if (!word.starts_with("ip:") && !word.starts_with("gid:"))
		text = "ip:" + word;
	const std::size_t literal = text.find(':') + 1;
	text = text.substr(0, literal) + without_brackets(text.substr(literal));
	if (text.starts_with("ip:"))
		text = "ip:" + normal_literal(text.substr(literal));
	if (!rtrs::parse_address(view(text)).ok() || !is_literal(bare(text)))
		throw Failure(
		    Exit::Usage, fmt::format("'{}' is no address", word),
		    "an address is ip:<IPv4>, ip:<IPv6> or gid:<GID>, where ip: can be left out; "
		    "and a port is given apart; names of machines may stand in paths");
	return text;
}

std::string canonical_path(const std::string &word)
{
	std::size_t separator = word.find(',');
	if (separator == std::string::npos)
		separator = word.find('@');
	if (separator == std::string::npos)
		return canonical_address(word);
	const std::string source = canonical_address(word.substr(0, separator)),
			  destination = canonical_address(word.substr(separator + 1));
	if (source.starts_with("ip:") && destination.starts_with("ip:") &&
	    !same_family(source, destination))
		throw Failure(Exit::Usage,
			      fmt::format("'{}': both ends of a path are of one family", word),
			      "IPv4 and IPv4, or IPv6 and IPv6");
	return source + "@" + destination;
}

bool is_host_name(const std::string &word)
{
	const std::string last = word.substr(word.rfind('.') + 1);
	return !word.empty() && word.size() <= 253 && word[0] != '-' && word[0] != '.' &&
	       std::all_of(
		   word.begin(), word.end(),
		   [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.'; }) &&
	       !std::all_of(last.begin(), last.end(),
			    [](unsigned char c) { return std::isdigit(c); });
}

std::vector<std::string> addresses_of(const Host &host, const std::string &name)
{
	const Resolved resolved = host.resolve(name);
	if (resolved.addresses.empty())
		throw Failure(
		    Exit::NotFound,
		    fmt::format("the name '{}' has no address: {}", name,
				resolved.error.empty() ? "nobody knows one" : resolved.error),
		    "is it spelled right? getent ahosts " + name);
	return resolved.addresses;
}

namespace {

// What a word of a path may stand for: itself, or each address of a name.
std::vector<std::string> candidates(const Host &host, const std::string &word)
{
	if (!is_host_name(word))
		return {canonical_address(word)};
	std::vector<std::string> all;
	for (const std::string &address : addresses_of(host, word))
		all.push_back(canonical_address(address));
	return all;
}

} // namespace

std::string path_word(const std::string &word)
{
	const std::size_t separator = word.find_first_of(",@");
	auto part = [](const std::string &text) {
		return is_host_name(text) ? text : canonical_address(text);
	};
	if (separator == std::string::npos)
		return part(word);
	if (!is_host_name(word.substr(0, separator)) && !is_host_name(word.substr(separator + 1)))
		return canonical_path(word);
	return part(word.substr(0, separator)) + "@" + part(word.substr(separator + 1));
}

std::vector<std::string> path_candidates(const Host &host, const std::string &word)
{
	const std::size_t separator = word.find_first_of(",@");
	if (separator == std::string::npos)
		return candidates(host, word);
	const std::string source = word.substr(0, separator),
			  destination = word.substr(separator + 1);
	if (!is_host_name(source) && !is_host_name(destination))
		return {canonical_path(word)};
	const std::vector<std::string> from = candidates(host, source),
				       to = candidates(host, destination);
	std::vector<std::string> all;
	for (const std::string &d : to)
		for (const std::string &s : from)
			if (same_family(s, d))
				all.push_back(s + "@" + d);
	if (!all.empty())
		return all;
	throw Failure(Exit::NotFound, fmt::format("'{}' and '{}' have no addresses of one family",
						  source, destination));
}

std::string resolved_path(const Host &host, const std::string &word)
{
	return path_candidates(host, word)[0];
}

void check_session_name(const std::string &name)
{
	// A blank would end the option in map_device, a '#' is meant as a comment.
	if (rtrs::check_session_name(view(name)).ok() && end_of_word(name) == name.size())
		return;
	throw Failure(
	    Exit::Usage, fmt::format("'{}' cannot be the name of a session", name),
	    "it has 1 to 254 printable characters without blank, '#', '/' and '.', and is not ctl");
}

} // namespace rnbdadm
