// SPDX-License-Identifier: GPL-2.0
// The sections of the configuration, with what is wrong in each of them alone.
#include "config_file.hh"

#include "exports.hh"
#include "mapping.hh"
#include "name_lists.hh"
#include "names.hh"
#include "settings.hh"
#include "text.hh"
#include "words.hh"

#include <algorithm>

#include <fmt/format.h>
#include <rtrs/pure/auth_policy.hh>
#include <rtrs/pure/heartbeat.hh>
#include <rtrs/pure/policy.hh>
#include <rtrs/pure/sysfs_text.hh>
#include <rtrs/wire/constants.hh>
#include <rtrs/wire/key_name.hh>

namespace rnbdadm {

const std::vector<ConfigKey> &config_keys()
{
	constexpr const char *kNeeded = "";
	constexpr rtrs::HeartbeatLimits kShort = rtrs::heartbeat_defaults(true);
	constexpr rtrs::HeartbeatLimits kOther = rtrs::heartbeat_defaults(false);
	auto heartbeat = [](auto own, auto others) {
		return fmt::format("{} where the server is of this project, else {}", own, others);
	};
	static const std::vector<ConfigKey> kAll = {
	    {"path", "[SRC@]DST", false, true, false, false, true,
	     "address or name of the server, after the address of this machine to come from; once "
	     "for "
	     "each path",
	     kNeeded},
	    {"port", "NUMBER", true, true, false, false, false, "port of the server",
	     std::to_string(rtrs::kDefaultPort)},
	    {"policy", "NAME", true, true, false, false, false,
	     "how a request chooses its path: round-robin, min-inflight or min-latency",
	     normal_value(*find_setting("policy"),
			  std::to_string(static_cast<int>(rtrs::kDefaultPolicy)))},
	    {"reconnect-attempts", "NUMBER", true, true, false, false, false,
	     "attempts in a row before a lost path gives up, -1 for ever", "-1"},
	    {"request-timeout", "SECONDS", true, true, false, false, false,
	     "how long a request waits for the server before its path starts again, 0 without "
	     "limit",
	     std::to_string(rtrs::kDefaultRequestTimeout)},
	    {"heartbeat-interval", "MILLISECONDS", true, true, false, false, false,
	     "time between two heartbeats of a path",
	     heartbeat(kShort.interval_ms, kOther.interval_ms)},
	    {"heartbeat-missed-max", "NUMBER", true, true, false, false, false,
	     "heartbeats without answer after which a path counts as lost",
	     heartbeat(kShort.missed_max, kOther.missed_max)},
	    {"reconnect-delay", "SECONDS", true, true, false, false, false,
	     "longest pause before a lost path tries to connect again", "30"},
	    {"tos", "NUMBER", true, true, false, false, false,
	     "type of service of what both sides send, for switches: 0 to 255, four times a DSCP; "
	     "-1 "
	     "is what the kernel has",
	     "-1"},
	    {"connections", "NUMBER", true, true, false, false, false,
	     "connections of each path, fixed while the session is open; 0 is one for each CPU",
	     "0"},
	    {"queue-depth", "NUMBER", true, true, false, false, false,
	     "requests of all its disks that are under way at once, 8 to 65535, fixed while the "
	     "session is open; 0 is as many as the server takes",
	     "0"},
	    {"session", "NAME", false, false, true, false, false, "the session to map it in",
	     kNeeded},
	    {"device", "PATH", false, false, true, true, false,
	     "in a device section the name on the server, in an export section the block device of "
	     "this machine",
	     kNeeded},
	    {"access", "MODE", true, true, true, true, false,
	     "ro, rw, migration or shared; of an export the most that clients may ask for", "rw"},
	    {"poll-queues", "NUMBER", true, true, true, false, false,
	     "queues for polled I/O, -1 for one per CPU", "0"},
	    {"no-path-timeout", "SECONDS", true, true, true, false, false,
	     "how long I/O waits while no path is connected, -1 for ever, 0 to fail at once", "0"},
	    {"auth", "POLICY", true, true, false, false, false,
	     "whether both sides prove who they are: off, optional or required",
	     "required with a key; else the parameter auth of rtrs_client, which is optional if it "
	     "was not given"},
	    {"key", "NAME", true, true, false, false, false,
	     "name of the key by which they do, which is in the kernel's keyring",
	     "none: nothing is proven"},
	    {"initramfs", "yes|no", false, false, true, false, false,
	     "yes: an initramfs maps it, with the key of its session, before the root file system "
	     "is mounted; it then stays mapped until the machine goes down. See INITRAMFS below",
	     "no"},
	    {"soft-roce", "INTERFACE", false, true, false, false, true,
	     "network interface that becomes a soft-RoCE device in an initramfs, and nowhere else, "
	     "before it maps a device of the session",
	     "none"},
	    {"local-use", "exclusive|shared", false, false, false, true, false,
	     "shared: the export is made, and clients open it, also while this machine uses the "
	     "device itself",
	     "exclusive"},
	    {"client", "SESSION", false, false, false, true, true,
	     "session that may use the export, or 'name*' for all that begin so", "all may"},
	    {"client", "SESSION", false, false, false, false, true,
	     "session that the key opens, and nobody without it, or 'name*' for all that begin so",
	     kNeeded, true},
	    {"key", "NAME", false, false, false, true, true,
	     "key that its clients have to have proven, 'name*' for all that begin so, * for any, "
	     "'name:ro' for those that may read only",
	     "none: no proof is needed"},
	    {"address", "ADDRESS[/BITS]", false, false, false, true, true,
	     "address or range that all paths of its clients come from, or a machine by its name: "
	     "any of its addresses",
	     "any"},
	};
	return kAll;
}

std::string Mistake::line() const
{
	return place + ": " + text;
}

const Entry *Section::find(const std::string &key) const
{
	for (const Entry &entry : entries)
		if (entry.key == key)
			return &entry;
	return nullptr;
}

namespace {

bool stands_in(const ConfigKey &key, const std::string &kind)
{
	return (kind == "defaults" && key.defaults) || (kind == "session" && key.session) ||
	       (kind == "device" && key.device) || (kind == "export" && key.exported) ||
	       (kind == "key" && key.key);
}

std::int64_t number(const Entry &entry, std::int64_t min, std::int64_t max)
{
	Integer value = parse_signed(entry.value);
	if (!value || *value < min || *value > max)
		throw Failure(Exit::Config, fmt::format("{}: '{}' is no whole number from {} to {}",
							entry.key, entry.value, min, max));
	return *value;
}

// As the kernel has it, without what a shell or a path would take for something else.
bool is_interface_name(const std::string &name)
{
	constexpr std::size_t kLongest = 15;
	auto legal = [](unsigned char c) {
		return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '@';
	};
	return !name.empty() && name.size() <= kLongest && std::isalnum(name[0]) &&
	       std::all_of(name.begin(), name.end(), legal);
}

// Longer than any name of a file.
constexpr std::size_t kLongestValue = 4096;

bool is_quoted(const std::string &text)
{
	return text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
}

// Comments have lines of their own. What stands behind a word is none, and would be taken for more
// names: of clients that may use an export, say.
void check_one_word(const Entry &entry, bool many)
{
	const std::string &value = entry.value;
	std::size_t end = end_of_word(value);
	// Names of devices may have either.
	if (entry.key == "device")
		end = std::min(value.find(" #"), value.size());
	if (end == value.size())
		return;
	if (value[0] == '#')
		throw Failure(Exit::Config,
			      fmt::format("'{}' is a comment: {} has no value", value, entry.key));
	throw Failure(
	    Exit::Config,
	    fmt::format("{0}: '{1}' is more than one word: write '{0} = {2}'; {3}", entry.key,
			value, trim(value.substr(0, end)),
			many ? fmt::format("another {}, and a comment, stand in lines of their own",
					   entry.key)
			     : "a comment stands in a line of its own"));
}

// Values that stand for themselves are judged where they stand, used or not.
void check_value(const Entry &entry, const std::string &kind)
{
	if (const Setting *setting = find_setting(entry.key))
		check_setting(*setting, entry.value);
	if (entry.key == "port")
		number(entry, 1, 65535);
	if (entry.key == "poll-queues")
		number(entry, -1, 65536);
	if (entry.key == "no-path-timeout")
		number(entry, -1, 1'000'000);
	if (entry.key == "path")
		path_word(entry.value);
	if (entry.key == "auth" && !rtrs::parse_auth_policy(view(entry.value)).ok())
		throw Failure(
		    Exit::Config,
		    fmt::format("auth '{}' is not off, optional or required", entry.value));
	// In an export it is a rule, which may stand for several.
	if (entry.key == "key" && kind == "export")
		check_key_rule(entry.value);
	else if (entry.key == "key" && !rtrs::check_key_name(view(entry.value)).ok())
		throw Failure(Exit::Config,
			      fmt::format("'{}' cannot be the name of a key", entry.value));
	if (entry.key == "client" && kind == "key")
		check_client_rule(entry.value);
	if (entry.key == "initramfs" && entry.value != "yes" && entry.value != "no")
		throw Failure(Exit::Config,
			      fmt::format("initramfs '{}' is not yes or no", entry.value));
	if (entry.key == "soft-roce" && !is_interface_name(entry.value))
		throw Failure(
		    Exit::Config,
		    fmt::format("'{}' cannot be the name of a network interface", entry.value));
	if (entry.key == "local-use")
		check_local_use(entry.value);
	if (entry.key == "device" && kind == "export")
		check_device(entry.value);
	const std::vector<std::string> modes = access_modes();
	if (entry.key == "access" &&
	    std::find(modes.begin(), modes.end(), entry.value) == modes.end())
		throw Failure(Exit::Config,
			      fmt::format("access '{}' is not one of {}{}", entry.value,
					  join(modes, ", "), did_you_mean(entry.value, modes)));
}

class Reader {
public:
	Reader(const Host &host, Sections &into) : host_(host), into_(into) {}

	void read_file(const std::string &path)
	{
		std::optional<std::string> text;
		try {
			text = host_.read(path);
		} catch (const Failure &failure) {
			return into_.mistakes.push_back({path, "", "", failure.what()});
		}
		if (!text)
			return into_.mistakes.push_back({path, "", "",
							 host_.kind_of(path).folder
							     ? "it cannot be read: it is a folder"
							     : "it cannot be read: it is gone"});
		read_text(path, *text);
	}

	void read_text(const std::string &path, const std::string &text)
	{
		section_ = nullptr;
		std::size_t number = 0;
		// What some editors begin a file with.
		std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
		while (at < text.size()) {
			std::size_t end = std::min(text.find('\n', at), text.size());
			std::string line = trim(text.substr(at, end - at));
			at = end + 1;
			place_ = fmt::format("{}:{}", path, ++number);
			if (line.empty() || line[0] == '#' || line[0] == ';')
				continue;
			if (line.find('\0') != std::string::npos)
				mistake("there is a zero byte in this line");
			else if (line[0] == '[')
				open_section(line);
			else
				read_line(line);
		}
	}

private:
	void mistake(const std::string &text)
	{
		Mistake found{place_, "", "", text};
		if (section_) {
			found.kind = section_->kind;
			found.name = section_->name;
			if (section_->fault.empty())
				section_->fault = place_;
		}
		into_.mistakes.push_back(found);
	}

	void open_section(const std::string &line)
	{
		std::vector<std::string> words = split(line, "[] \t");
		static const std::vector<std::string> kKinds = {"defaults", "session", "device",
								"export", "key"};
		// The lines below belong to it even if it is faulty.
		const std::string kind = words.empty() ? "" : words[0];
		const std::string name =
		    words.empty() ? "" : join({words.begin() + 1, words.end()}, " ");
		into_.sections.push_back({kind, name, place_, {}, ""});
		section_ = &into_.sections.back();
		const bool named = kind != "defaults";
		const bool known = std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
		if (line.size() > kLongestValue)
			mistake(fmt::format("this line has {} characters", line.size()));
		else if (line.back() == ']' && named && known && words.size() > 2)
			mistake(fmt::format("'{}': a name has no blank", line));
		else if (known && words.size() == 2 && is_quoted(name))
			mistake(fmt::format("'{}': a name has no quotes: write [{} {}]", line, kind,
					    name.substr(1, name.size() - 2)));
		else if (line.back() != ']' || words.size() != (named ? 2u : 1u))
			mistake(
			    fmt::format("'{}' is not [defaults], [session NAME], [device NAME], "
					"[export NAME] or [key NAME]",
					line));
		else if (!known)
			mistake(fmt::format("there is no section '{}'{}", kind,
					    did_you_mean(kind, kKinds)));
		// The first one holds.
		if (!named || name.empty())
			return;
		const auto [first, is_new] = into_.by_name.emplace(std::pair(kind, name), section_);
		if (!is_new)
			mistake(fmt::format("{} {} was described at {} already", kind, name,
					    first->second->place));
	}

	void read_line(const std::string &line)
	{
		std::size_t equals = line.find('=');
		if (equals == std::string::npos && line.size() > kLongestValue)
			return mistake(fmt::format("this line has {} characters", line.size()));
		if (equals == std::string::npos) {
			mistake(fmt::format("'{}' is neither [section] nor key = value", line));
			return spoil(split(line)[0]);
		}
		if (!section_)
			return mistake("this key stands in no section");
		add({trim(line.substr(0, equals)), trim(line.substr(equals + 1)), place_, false});
	}

	void add(Entry entry)
	{
		std::vector<std::string> known;
		for (const ConfigKey &k : config_keys()) {
			if (!stands_in(k, section_->kind))
				continue;
			known.push_back(k.name);
			if (entry.key != k.name)
				continue;
			if (!k.many && section_->find(k.name)) {
				mistake(fmt::format("{} is given at {} already", entry.key,
						    section_->find(k.name)->place));
				return spoil(entry.key);
			}
			judge(entry, k.many);
			section_->entries.push_back(entry);
			return;
		}
		// A section that is unknown itself was reported.
		if (known.empty())
			return;
		mistake(fmt::format("{} has no key '{}'{}",
				    section_->kind == "defaults" ? "a section [defaults]"
				    : section_->kind == "export" ? "an export"
								 : "a " + section_->kind,
				    entry.key, did_you_mean(entry.key, known)));
		spoil(nearest(entry.key, known));
	}

	void judge(Entry &entry, bool many)
	{
		try {
			if (entry.value.empty())
				throw Failure(Exit::Config, entry.key + " has no value");
			if (entry.value.size() > kLongestValue)
				throw Failure(
				    Exit::Config,
				    fmt::format(
					"the value of {} has {} characters, and may have {}",
					entry.key, entry.value.size(), kLongestValue));
			if (is_quoted(entry.value))
				throw Failure(
				    Exit::Config,
				    fmt::format("a value has no quotes: write '{} = {}'", entry.key,
						entry.value.substr(1, entry.value.size() - 2)));
			check_one_word(entry, many);
			check_value(entry, section_->kind);
		} catch (const Failure &failure) {
			entry.bad = true;
			mistake(failure.what());
		}
	}

	// A default that was meant and is not known: who would inherit it must not get another one.
	void spoil(const std::string &key)
	{
		if (section_ && section_->kind == "defaults" && !key.empty())
			section_->entries.push_back({key, "", place_, true});
	}

	const Host &host_;
	Sections &into_;
	Section *section_ = nullptr; // that the line at hand stands in
	std::string place_;	     // of that line
};

} // namespace

Sections read_sections(const Host &host, const std::vector<std::string> &files,
		       const Drafts &drafts)
{
	Sections sections;
	Reader reader(host, sections);
	for (const std::string &file : files)
		if (const auto draft = drafts.find(file); draft != drafts.end())
			reader.read_text(file, draft->second);
		else
			reader.read_file(file);
	return sections;
}

Place parse_place(const std::string &place)
{
	const std::size_t colon = place.rfind(':');
	const Number line =
	    colon == std::string::npos ? Number() : parse_number(place.substr(colon + 1));
	return {place.substr(0, line ? colon : std::string::npos), line};
}

} // namespace rnbdadm
