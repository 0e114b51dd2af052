// SPDX-License-Identifier: GPL-2.0
// Sessions, devices and exports of the configuration's sections.
#include "config.hh"

#include "links.hh"
#include "names.hh"
#include "settings.hh"
#include "text.hh"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <rtrs/wire/key_name.hh>

namespace rnbdadm {

const SessionConfig *Config::session(const std::string &name) const
{
	for (const SessionConfig &s : sessions)
		if (s.name == name)
			return &s;
	return nullptr;
}

const DeviceConfig *Config::device(const std::string &name) const
{
	for (const DeviceConfig &d : devices)
		if (d.name == name)
			return &d;
	return nullptr;
}

const ExportConfig *Config::exported(const std::string &name) const
{
	for (const ExportConfig &e : exports)
		if (e.request.name == name)
			return &e;
	return nullptr;
}

const DeviceConfig *Config::mapping(const std::string &session, const std::string &path) const
{
	for (const DeviceConfig &d : devices)
		if (d.request.session == session && d.request.device_path == path)
			return &d;
	return nullptr;
}

bool Config::faulty(const std::string &kind, const std::string &name) const
{
	return std::any_of(mistakes.begin(), mistakes.end(),
			   [&](const Mistake &m) { return m.kind == kind && m.name == name; });
}

bool Config::in_initramfs(const std::string &device) const
{
	return std::find(initramfs.begin(), initramfs.end(), device) != initramfs.end();
}

bool is_device_name(const std::string &name)
{
	auto legal = [](unsigned char c) {
		return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == ':';
	};
	return !name.empty() && name != "-" && name.size() <= 200 &&
	       std::all_of(name.begin(), name.end(), legal);
}

Failure failure_of(const std::vector<std::string> &mistakes, const std::string &what)
{
	return {Exit::Config,
		fmt::format("{} has {} mistake{}:", what, mistakes.size(),
			    mistakes.size() > 1 ? "s" : ""),
		join(mistakes, "\n")};
}

void need_no_mistakes(const Config &config)
{
	std::vector<std::string> lines;
	for (const Mistake &m : config.mistakes)
		lines.push_back(m.line());
	if (!lines.empty())
		throw failure_of(lines, "nothing is done: the configuration");
}

std::string comparable_path(const std::string &path)
{
	std::string result;
	for (const std::string &address : split(path, "@,")) {
		std::size_t colon = address.find(':');
		std::string prefix = address.substr(0, colon + 1),
			    literal = address.substr(colon + 1);
		if (prefix != "ip:" && prefix != "gid:") {
			literal = address;
			prefix = "ip:";
		}
		result += (result.empty() ? "" : "@") + prefix + normal_literal(literal);
	}
	return result;
}

static std::string without_zones(const std::string &path)
{
	std::string result;
	for (const std::string &address : split(path, "@"))
		result += (result.empty() ? "" : "@") + address.substr(0, address.find('%'));
	return result;
}

bool same_path(const std::string &configured, const Path &path)
{
	std::string wanted = comparable_path(configured);
	const bool with_source = wanted.find('@') != std::string::npos;
	const std::string shown =
	    comparable_path((with_source ? path.source + "@" : "") + path.destination);
	// The kernel's own module shows no zone.
	if (shown.find('%') == std::string::npos)
		wanted = without_zones(wanted);
	return wanted == shown;
}

bool has_path(const Session &session, const std::string &configured)
{
	return std::any_of(session.paths.begin(), session.paths.end(),
			   [&](const Path &p) { return same_path(configured, p); });
}

namespace {

void check_device_name(const std::string &name)
{
	if (!is_device_name(name))
		throw Failure(Exit::Config,
			      fmt::format("'{}' cannot be the name of a device: it has letters, "
					  "digits and - _ . :",
					  name));
}

const Entry &needed(const Section &section, const char *key)
{
	const Entry *entry = section.find(key);
	if (!entry)
		throw Failure(Exit::Config, fmt::format("{} {} does not say its {}", section.kind,
							section.name, key));
	return *entry;
}

// What an object has that is described in a section with a mistake is not known: it is left out,
// and so is a device of a session that is, and an export for clients by name while a key is.
class Reader {
public:
	Reader(const Host &host, Sections sections) : host_(host), all_(std::move(sections))
	{
		for (const Section &section : all_.sections)
			if (section.kind == "defaults")
				defaults_.push_back(&section);
	}

	Config read()
	{
		config_.mistakes = all_.mistakes;
		// What a device inherits must be known before it is read.
		each("session", [&](const Section &s) { config_.sessions.push_back(session(s)); });
		for (const SessionConfig &session : config_.sessions)
			sessions_.emplace(session.name, &session);
		find_initramfs();
		each("device", [&](const Section &s) { config_.devices.push_back(device(s)); });
		// What binds names, before what they open.
		each("key", [&](const Section &s) { config_.name_lists.push_back(names(s)); });
		each("export", [&](const Section &s) { config_.exports.push_back(exported(s)); });
		std::stable_sort(config_.mistakes.begin(), config_.mistakes.end(),
				 [](const Mistake &a, const Mistake &b) {
					 return natural_less(a.place, b.place);
				 });
		return std::move(config_);
	}

private:
	void each(const char *kind, const std::function<void(const Section &)> &work)
	{
		for (Section &section : all_.sections) {
			if (section.kind != kind || !section.fault.empty())
				continue;
			place_ = section.place;
			try {
				work(section);
			} catch (const Failure &failure) {
				section.fault = place_;
				config_.mistakes.push_back(
				    {place_, section.kind, section.name, failure.what()});
			}
		}
	}

	// A machine may depend on it, so what is meant counts even if it cannot be read.
	void find_initramfs()
	{
		for (const Section &section : all_.sections) {
			const Entry *entry = section.find("initramfs");
			if (section.kind == "device" && entry && entry->value != "no" &&
			    !config_.in_initramfs(section.name))
				config_.initramfs.push_back(section.name);
		}
	}

	const Section *session_section(const std::string &name) const
	{
		auto found = all_.by_name.find({"session", name});
		return found == all_.by_name.end() ? nullptr : found->second;
	}

	// The entry in the innermost section that has it, null if none has.
	const Entry *inherited(const Section &section, const std::string &key) const
	{
		if (const Entry *own = section.find(key))
			return own;
		if (section.kind == "device")
			if (const Section *session =
				session_section(needed(section, "session").value))
				if (const Entry *theirs = session->find(key))
					return theirs;
		const Entry *found = nullptr;
		for (const Section *s : defaults_)
			if (s->find(key))
				found = s->find(key);
		if (found && found->bad)
			throw Failure(Exit::Config,
				      fmt::format("{} {} has {} of [defaults], where {} is wrong",
						  section.kind, section.name, key, found->place));
		return found;
	}

	SessionConfig session(const Section &section)
	{
		check_session_name(section.name);
		SessionConfig config;
		config.name = section.name;
		config.place = section.place;
		std::map<std::string, std::string> places; // of paths
		for (const Entry &entry : section.entries)
			if (entry.key == "path") {
				place_ = entry.place;
				config.paths.push_back(path_word(entry.value));
				const std::string &path = config.paths.back();
				const auto [first, is_new] =
				    places.emplace(comparable_path(path), entry.place);
				if (!is_new)
					throw Failure(Exit::Config,
						      fmt::format("path {} is given at {} already",
								  path, first->second));
			} else if (entry.key == "soft-roce") {
				config.soft_roce.push_back(entry.value);
			}
		place_ = section.place;
		if (const Entry *entry = inherited(section, "port"))
			config.port = parse_signed(entry->value).value_or(1234);
		if (const Entry *entry = inherited(section, "auth"))
			config.auth = entry->value;
		if (const Entry *entry = inherited(section, "key"))
			config.key = entry->value;
		for (const Setting &setting : session_settings())
			if (const Entry *entry = inherited(section, setting.name))
				config.settings[setting.name] = normal_value(setting, entry->value);
		if (config.paths.empty())
			throw Failure(Exit::Config,
				      fmt::format("session {} has no path", section.name));
		return config;
	}

	const SessionConfig &session_of(const Section &device) const
	{
		const std::string &name = needed(device, "session").value;
		if (auto found = sessions_.find(name); found != sessions_.end())
			return *found->second;
		if (const Section *section = session_section(name))
			throw Failure(Exit::Config, fmt::format("its session {} has a mistake: {}",
								name, section->fault));
		std::vector<std::string> names;
		for (const Section &section : all_.sections)
			if (section.kind == "session")
				names.push_back(section.name);
		throw Failure(Exit::Config, fmt::format("there is no section [session {}]{}", name,
							did_you_mean(name, names)));
	}

	DeviceConfig device(const Section &section)
	{
		check_device_name(section.name);
		DeviceConfig config;
		config.name = section.name;
		config.place = section.place;
		MapRequest &request = config.request;
		request.owner = section.name;
		request.session = needed(section, "session").value;
		request.device_path = needed(section, "device").value;
		session_of(section);
		if (const Entry *entry = inherited(section, "access"))
			request.access = entry->value;
		if (const Entry *entry = inherited(section, "port"))
			request.port = parse_signed(entry->value).value_or(1234);
		if (const Entry *entry = inherited(section, "poll-queues"))
			request.poll_queues = parse_signed(entry->value).value_or(0);
		if (const Entry *entry = inherited(section, "no-path-timeout"))
			request.no_path_timeout = parse_signed(entry->value);
		request.auth = session_of(section).auth;
		request.key = session_of(section).key;
		request.settings = session_of(section).settings;
		request.needs_settings = false;
		check_request(host_, request);
		request.paths = session_of(section).paths;
		const auto [first, is_new] =
		    mappings_.emplace(std::pair(request.session, request.device_path), config.name);
		if (!is_new)
			throw Failure(Exit::Config, fmt::format("device {} is the same as {}",
								config.name, first->second));
		const std::string link = link_of(request.session, request.device_path);
		const auto [other, has_own] = links_.emplace(link, config.name);
		if (!has_own)
			throw Failure(
			    Exit::Config,
			    fmt::format("device {} would have the same link as {}, {}: map it in "
					"another session, or export it by another name",
					config.name, other->second, link));
		return config;
	}

	ExportConfig exported(const Section &section)
	{
		check_export_name(section.name);
		ExportConfig config;
		config.place = section.place;
		config.request.name = section.name;
		config.request.device_path = needed(section, "device").value;
		if (const Entry *entry = inherited(section, "access"))
			config.request.access = entry->value;
		if (const Entry *entry = section.find("local-use"))
			config.request.local_use = entry->value;
		for (const Entry &entry : section.entries)
			if (entry.key == "client")
				config.request.clients.push_back(entry.value);
		if (!config.request.clients.empty())
			need_bound_names();
		for (const Entry &entry : section.entries)
			if (entry.key == "key")
				config.request.keys.push_back(entry.value);
		for (const Entry &entry : section.entries)
			if (entry.key == "address") {
				place_ = entry.place;
				config.request.addresses.push_back(address_rule_word(entry.value));
			}
		return config;
	}

	// While the names of a key are not known, anybody may use them: so what is for clients by
	// name is for nobody until they are. What is no known section may have been meant as one.
	void need_bound_names() const
	{
		const auto is_other = [](const std::string &kind) {
			return kind == "defaults" || kind == "session" || kind == "device" ||
			       kind == "export";
		};
		for (const Mistake &m : config_.mistakes)
			if (!is_other(m.kind))
				throw Failure(Exit::Config,
					      fmt::format("no clients by name while names of keys "
							  "may be missing: {}",
							  m.place));
	}

	NameListConfig names(const Section &section)
	{
		if (!rtrs::check_key_name(view(section.name)).ok())
			throw Failure(Exit::Config, fmt::format("'{}' cannot be the name of a key",
								section.name));
		needed(section, "client");
		NameListConfig config{section.place, {section.name, {}}};
		for (const Entry &entry : section.entries)
			config.list.clients.push_back(entry.value);
		return config;
	}

	const Host &host_;
	Sections all_;
	std::vector<const Section *> defaults_;
	Config config_;
	std::map<std::string, const SessionConfig *> sessions_;
	std::map<std::pair<std::string, std::string>, std::string> mappings_; // and whose they are
	std::map<std::string, std::string> links_; // below /dev, and whose they are
	std::string place_;			   // of what is at hand
};

} // namespace

// A file that is there and cannot be looked at is read all the same: that is where it is reported.
std::vector<std::string> config_files(const Host &host)
{
	std::vector<std::string> files;
	try {
		if (host.exists(kConfigFile))
			files.push_back(kConfigFile);
	} catch (const Failure &) {
		files.push_back(kConfigFile);
	}
	try {
		for (const std::string &name : host.list(kConfigFolder))
			if (name.ends_with(".conf") && name[0] != '.')
				files.push_back(kConfigFolder + "/" + name);
	} catch (const Failure &) {
		files.push_back(kConfigFolder);
	}
	return files;
}

Config read_config(const Host &host, const Drafts &drafts)
{
	std::vector<std::string> files = config_files(host);
	// It is before those of the folder, there or not yet.
	if (drafts.contains(kConfigFile) && (files.empty() || files[0] != kConfigFile))
		files.insert(files.begin(), kConfigFile);
	return Reader(host, read_sections(host, files, drafts)).read();
}

Config read_config(const Host &host, const std::vector<std::string> &files)
{
	return Reader(host, read_sections(host, files)).read();
}

} // namespace rnbdadm
