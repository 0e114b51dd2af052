// SPDX-License-Identifier: GPL-2.0
// Keys of this machine: those on its disk, and those that the kernel has.
#pragma once

#include "diagnosis.hh"
#include "key_files.hh"

namespace rnbdadm {

struct Key {
	rtrs::KeyId id;
	Text fingerprint; // of a file that is good
	bool on_disk = false;
	std::optional<bool> in_kernel; // nothing if there is no keyring
	std::int32_t serial = 0;       // in the keyring
	Text problem;		       // why the file is refused
	std::string advice;
};

struct Keys {
	std::vector<Key> keys; // by name, then by generation
	// What is no key's, and why: names of files, descriptions in the keyring.
	std::vector<std::pair<std::string, std::string>> strays;
	bool keyring = false;

	bool empty() const { return keys.empty() && strays.empty(); }
	const Key *find(const rtrs::KeyId &id) const;
	std::vector<Key> of(const rtrs::KeyName &name) const;
	std::vector<std::string> names() const;
};

extern const Kind kKeyKind;
Json to_json(const Key &key);

// Of a command line. Failure (Usage).
rtrs::KeyName key_name(const std::string &word);
rtrs::KeyGeneration key_generation(const std::string &word);
// Failure if the folder cannot be trusted, or this user is not root.
Keys read_keys(const Host &host);
// What is wrong with them; nothing if there is none.
void examine_keys(const Host &host, std::vector<Finding> &findings);

// "there is no key 'x' on this machine ...", for names of keys and rules for them, each with what
// to do; nothing for who is not root, and where keys cannot be looked at, which examine_keys()
// says.
std::vector<std::pair<std::string, std::string>> missing_keys(
    const Host &host, const std::vector<std::string> &rules);

// Paths of this machine, on both sides, that were proven by it.
std::size_t paths_proven_by(const Host &host, const rtrs::KeyId &id);

} // namespace rnbdadm
