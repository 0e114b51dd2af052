// SPDX-License-Identifier: GPL-2.0
// Objects by whatever name an administrator has at hand. A word that fits several objects of which
// one is wanted is refused with the list of them; one that fits none with the nearest name.
#pragma once

#include "model.hh"

#include <variant>

namespace rnbdadm {

// rnbd0, /dev/rnbd0, a link below /dev to that, the device's path on the server, <session>:<path>,
// <path>@<session>, its name in the configuration, its wwid.
Device one_device(const Host &host, const std::vector<Device> &devices, const std::string &word);

// The name of the session, or a path, an address or the name of a machine that only one session
// has. The resolver is asked if nothing else fits, and never for what looks like a disk.
Session one_session(const Host &host, const std::vector<Session> &sessions,
		    const std::string &word);
// A session, or a device; what can be both is the session that is called so, else the device.
std::variant<Session, Device> session_or_device(const Host &host,
						const std::vector<Session> &sessions,
						const std::vector<Device> &devices,
						const std::string &word);

// <source>@<destination>, <session>:<port of the HCA>, <session>:<address>, <hca>:<port>, an HCA,
// an address with or without "ip:", the name of a machine.
Path one_path(const Host &host, const std::vector<Session> &sessions, const std::string &word);
// The same without the name of a machine.
Path one_path(const std::vector<Session> &sessions, const std::string &word);
// All that the word fits, at least one; the name of a session is all of its paths.
std::vector<Path> some_paths(const Host &host, const std::vector<Session> &sessions,
			     const std::string &word);

// Whether a word can be the name of a machine: it has no colon, and does not end with a number, as
// an address with a mistake does.
bool is_host_name(const std::string &word);
// The addresses of a machine, the best first. Failure (NotFound). Asks the resolver.
std::vector<std::string> addresses_of(const Host &host, const std::string &name);

// "[fd00::1]" and "[fd00::]/64" without their brackets; other text as it is.
std::string without_brackets(const std::string &text);
// An IPv6 literal as the kernel writes it: FD00:0:0::1 is fd00::1, and a zone is the name of an
// interface, not its number. Other text as it is.
std::string normal_literal(const std::string &text);
// An address as the kernel takes it, in the one spelling that it shows: "ip:" is put before a bare
// one. Failure (Usage).
std::string canonical_address(const std::string &word);
// "[source@]destination", also with a comma. Failure (Usage).
std::string canonical_path(const std::string &word);
// The same of a path in which names of machines may stand: the best address of each, of one family
// with what it comes from. Failure (NotFound). Asks the resolver.
std::string resolved_path(const Host &host, const std::string &word);
// The same for the configuration: names of machines stay as they are. Failure (Usage).
std::string path_word(const std::string &word);
// All paths that it may stand for, the best first. Failure (NotFound). Asks the resolver.
std::vector<std::string> path_candidates(const Host &host, const std::string &word);
// Names of sessions that a peer and sysfs accept. Failure (Usage).
void check_session_name(const std::string &name);

} // namespace rnbdadm
