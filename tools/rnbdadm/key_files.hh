// SPDX-License-Identifier: GPL-2.0
// /etc/rnbd/keys.d: keys of this machine, a file NAME.GENERATION for each. Only root may have a
// hand in any of it: whoever could write there, or read, has the keys.
#pragma once

#include "host.hh"
#include "secret.hh"

namespace rnbdadm {

inline const std::string kKeyFolder = "/etc/rnbd/keys.d";
// A line "NAME GENERATION" for each name that a key has had here.
inline const std::string kKeyNotes = "/etc/rnbd/keys.last";

// "client7.1"; the place of that file.
std::string key_file_name(const rtrs::KeyId &id);
std::string key_file(const rtrs::KeyId &id);
// Nothing for a name that is no key's.
std::optional<rtrs::KeyId> parse_key_file_name(const std::string &name);

// The folder, held open, so that nobody exchanges it while it is looked at.
class KeyFolder {
public:
	enum class Missing { Absent, Make };
	// Failure (Config) if others than root could change it, Denied.
	explicit KeyFolder(const Host &host, Missing missing = Missing::Absent);
	KeyFolder(const KeyFolder &) = delete;
	KeyFolder &operator=(const KeyFolder &) = delete;
	~KeyFolder();

	// None if there is no such folder.
	std::vector<std::string> names() const;
	bool has(const rtrs::KeyId &id) const;
	// The key that the file should have by its name; Failure (Config) "<file>: <why not>".
	rtrs::KeyId read(const std::string &name, Secret &secret) const;
	// A new file, on the disk when this returns; Failure (Exists).
	void create(const rtrs::KeyId &id, const Secret &secret);
	void remove(const std::string &name);

	// The newest generation that the name has had here, also if it is not there any more; 0 if
	// none was noted. Failure (Config) if kKeyNotes cannot be trusted.
	std::uint32_t last_generation(const rtrs::KeyName &name) const;
	// What create() does, too. On the disk when this returns; nothing without /etc/rnbd.
	void note_generation(const rtrs::KeyId &id);

private:
	std::map<std::string, std::uint32_t> read_notes() const;

	const Host &host_;
	int above_ = -1;
	int fd_ = -1;
};

// A key that is on its way: a file that nobody but its owner may read, or "-" for the standard
// input.
rtrs::KeyId read_key_from(const Host &host, const std::string &file, Secret &secret);

} // namespace rnbdadm
