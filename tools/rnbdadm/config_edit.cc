// SPDX-License-Identifier: GPL-2.0
// Sections that come into the configuration's files and go from there.
#include "config_edit.hh"

#include "text.hh"

#include <algorithm>
#include <cerrno>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

const std::string kLock = "/run/rnbd/config.lock";

using Lines = std::vector<std::string>;

// Each with its newline; the last one may lack it.
Lines lines_of(const std::string &text)
{
	Lines lines;
	for (std::size_t at = 0; at < text.size();) {
		const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
		lines.push_back(text.substr(at, end - at));
		at = end;
	}
	return lines;
}

bool is_blank(const std::string &line)
{
	return trim(line).empty();
}

// It says something: it is neither blank nor a comment.
bool is_key(const std::string &line)
{
	const std::string text = trim(line);
	return !text.empty() && text[0] != '#' && text[0] != ';';
}

bool is_heading(const std::string &line)
{
	return trim(line).starts_with('[');
}

// With its last newline, there or not; "" if there is no such file.
std::string on_disk(const Host &host, const std::string &file)
{
	const std::string text = host.text(file);
	return text.empty() ? text : text + '\n';
}

} // namespace

std::string with_section(const std::string &file, const std::string &section)
{
	std::string text = file;
	if (!text.empty() && text.back() != '\n')
		text += '\n';
	const Lines lines = lines_of(text);
	if (!lines.empty() && !is_blank(lines.back()))
		text += '\n';
	return text + section;
}

std::string without_section(const std::string &file, std::size_t line)
{
	Lines lines = lines_of(file);
	const std::size_t begin = line - 1;
	std::size_t end = begin + 1;
	for (std::size_t at = end; at < lines.size() && !is_heading(lines[at]); at++)
		if (is_key(lines[at]))
			end = at + 1;
	const auto nth = [&](std::size_t n) {
		return lines.begin() + static_cast<std::ptrdiff_t>(n);
	};
	lines.erase(nth(begin), nth(end));
	// One blank line was between it and each neighbour, and one is between these.
	const bool blank_before = begin && is_blank(lines[begin - 1]);
	if (begin < lines.size() && is_blank(lines[begin]) && (!begin || blank_before))
		lines.erase(nth(begin));
	else if (begin == lines.size() && blank_before)
		lines.pop_back();
	return join(lines, "");
}

std::unique_ptr<FileLock> lock_config(Call &call)
{
	if (call.dry_run)
		return nullptr;
	auto lock = std::make_unique<FileLock>(call.host, kLock);
	int error = 0;
	if (!call.wait_for([&] { return (error = lock->take()) != EWOULDBLOCK; }))
		throw Failure(Exit::TimedOut,
			      fmt::format("another rnbdadm has been changing {} for {:.0f} s",
					  kConfigFile, call.timeout));
	if (error)
		throw unwritable(kLock, error);
	return lock;
}

ConfigEdit::ConfigEdit(Call &call) : call_(call), lock_(lock_config(call))
{
	need_no_mistakes(read_config(call.host));
	revert();
}

void ConfigEdit::revert()
{
	drafts_.clear();
	before_.clear();
	order_.clear();
	effects_.clear();
	// Lines that sections are said to stand in have to be those of the texts that are changed.
	for (const std::string &file : config_files(call_.host))
		before_[file] = on_disk(call_.host, file);
	config_ = read_config(call_.host, before_);
}

std::string ConfigEdit::text_of(const std::string &file) const
{
	const auto draft = drafts_.find(file);
	const auto before = before_.find(file);
	return draft != drafts_.end()	 ? draft->second
	       : before != before_.end() ? before->second
					 : "";
}

void ConfigEdit::change(const std::string &file, const std::string &text)
{
	if (!drafts_.contains(file))
		order_.push_back(file);
	drafts_[file] = text;
	Drafts all = drafts_;
	all.insert(before_.begin(), before_.end());
	config_ = read_config(call_.host, all);
}

void ConfigEdit::add(const std::string &kind, const std::string &name, const std::string &section)
{
	change(kConfigFile, with_section(text_of(kConfigFile), section));
	if (!config_.mistakes.empty())
		throw Failure(Exit::Usage,
			      fmt::format("{} {} cannot be saved in {}: {}", kind, name,
					  kConfigFile, config_.mistakes[0].text));
	effects_.push_back(fmt::format("add to {}:\n{}", kConfigFile, section));
}

void ConfigEdit::remove(std::string kind, std::string name, std::string place)
{
	const Place at = parse_place(place);
	change(at.file, without_section(text_of(at.file), at.line.value_or(1)));
	effects_.push_back(fmt::format("take [{} {}] out of {}\n", kind, name, at.file));
}

void ConfigEdit::remove_device(const std::string &name)
{
	const DeviceConfig *device = config_.device(name);
	if (!device)
		return;
	const std::string session = device->request.session;
	// The device first: written alone, its session would be a section that nothing needs.
	remove("device", name, device->place);
	if (std::none_of(config_.devices.begin(), config_.devices.end(),
			 [&](const DeviceConfig &d) { return d.request.session == session; }))
		remove("session", session, config_.session(session)->place);
}

void ConfigEdit::remove_export(const std::string &name)
{
	if (const ExportConfig *exported = config_.exported(name))
		remove("export", name, exported->place);
}

void ConfigEdit::check() const
{
	for (const auto &[file, text] : drafts_)
		if (const int error =
			call_.dry_run
			    ? 0
			    : FileDraft(call_.host, file, text, Host::Folders::Make).error())
			throw unwritable(file, error);
}

void ConfigEdit::write(const std::string &done)
{
	for (const std::string &effect : effects_)
		if (call_.dry_run)
			call_.out << printable(effect);
		else
			call_.say(effect.substr(0, effect.find_last_not_of('\n') + 1));
	if (call_.dry_run)
		return;
	for (const std::string &file : order_) {
		if (on_disk(call_.host, file) != before_[file])
			throw Failure(Exit::Failed,
				      fmt::format("{}: {} was changed meanwhile", done, file),
				      "the same command again does what is left");
		FileDraft draft(call_.host, file, drafts_.at(file), Host::Folders::Make);
		if (const int error = draft.commit()) {
			const Failure failure = unwritable(file, error);
			throw Failure(failure.code(), fmt::format("{}: {}", done, failure.what()),
				      failure.hint());
		}
	}
}

} // namespace rnbdadm
