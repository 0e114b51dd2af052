// SPDX-License-Identifier: GPL-2.0
// Sections that come into the configuration's files and go from there (map --save and its like).
// Comments, order and all other sections stay as they are.
#pragma once

#include "config.hh"
#include "host_files.hh"

#include <memory>

namespace rnbdadm {

// A file with one more section at its end.
std::string with_section(const std::string &file, const std::string &section);
// A file without the section whose heading is in that line, counted from 1: its lines from the
// heading to the last key. What stands around them stays.
std::string without_section(const std::string &file, std::size_t line);

// While it is there, no other process of this program changes the configuration, nor maps what it
// is about to save. Failure (TimedOut) if another one has it for as long as --timeout. Null with
// --dry-run.
std::unique_ptr<FileLock> lock_config(Call &call);

// One change of the configuration, which is locked until its end.
class ConfigEdit {
public:
	// Failure (Config) for a configuration with mistakes: what it means is not known.
	explicit ConfigEdit(Call &call);

	// With all changes so far.
	const Config &config() const { return config_; }
	bool changed() const { return !drafts_.empty(); }

	// Into /etc/rnbd/rnbd.conf. Failure (Usage) if the configuration cannot say it.
	void add(const std::string &kind, const std::string &name, const std::string &section);
	// From where it stands, if it does; a session goes with the last device that is configured
	// in it.
	void remove_device(const std::string &name);
	void remove_export(const std::string &name);
	// As the files are now, with what others did meanwhile, and without all changes.
	void revert();

	// Failure if the files cannot be written. To be called before anything else is done.
	void check() const;
	// Writes the files, or says what would be in them (--dry-run). Failure "<done>: ...".
	void write(const std::string &done);

private:
	std::string text_of(const std::string &file) const;
	void change(const std::string &file, const std::string &text);
	// Copies: what is in config_ changes with it.
	void remove(std::string kind, std::string name, std::string place);

	Call &call_;
	std::unique_ptr<FileLock> lock_;
	Config config_;
	Drafts before_, drafts_;	   // as the files were, and as those that change will be
	std::vector<std::string> order_;   // in which these are written
	std::vector<std::string> effects_; // in words
};

} // namespace rnbdadm
