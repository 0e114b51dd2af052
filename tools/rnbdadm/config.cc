// SPDX-License-Identifier: GPL-2.0
// Reading the configuration.
#include "config.hh"

#include "names.hh"
#include "settings.hh"
#include "text.hh"

#include <algorithm>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace rnbdadm {

const std::vector<ConfigKey> &config_keys()
{
	static const std::vector<ConfigKey> kAll = {
	    {"path", "[SRC@]DST", false, true, false, false, true,
	     "address of the server, after the address of this machine to come from; once for each "
	     "path"},
	    {"port", "NUMBER", true, true, false, false, false,
	     "port of the server, 1234 if not given"},
	    {"policy", "NAME", true, true, false, false, false,
	     "how a request chooses its path: round-robin, min-inflight or min-latency"},
	    {"reconnect-attempts", "NUMBER", true, true, false, false, false,
	     "attempts in a row before a lost path gives up, -1 for ever"},
	    {"request-timeout", "SECONDS", true, true, false, false, false,
	     "how long a request waits for the server before its path starts again, 0 without "
	     "limit"},
	    {"heartbeat-interval", "MILLISECONDS", true, true, false, false, false,
	     "time between two heartbeats of a path"},
	    {"heartbeat-missed-max", "NUMBER", true, true, false, false, false,
	     "heartbeats without answer after which a path counts as lost"},
	    {"session", "NAME", false, false, true, false, false,
	     "the session to map it in; needed"},
	    {"device", "PATH", false, false, true, true, false,
	     "in a device section the name on the server, in an export section the block device of "
	     "this "
	     "machine; needed"},
	    {"access", "MODE", true, true, true, true, false,
	     "ro, rw (if not given) or migration; of an export the most that clients may ask for"},
	    {"poll-queues", "NUMBER", true, true, true, false, false,
	     "queues for polled I/O, -1 for one per CPU"},
	    {"no-path-timeout", "SECONDS", true, true, true, false, false,
	     "how long I/O waits while no path is connected, -1 for ever, 0 to fail at once"},
	    {"client", "SESSION", false, false, false, true, true,
	     "session that may use the export, or 'name*' for all that begin so; without, all may"},
	    {"address", "ADDRESS[/BITS]", false, false, false, true, true,
	     "address or range that all paths of its clients come from; without, any"},
	};
	return kAll;
}

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
		unsigned char bytes[16];
		char text[INET6_ADDRSTRLEN];
		for (int family : {AF_INET, AF_INET6})
			if (inet_pton(family, literal.c_str(), bytes) == 1 &&
			    inet_ntop(family, bytes, text, sizeof text)) {
				literal = text;
				break;
			}
		result += (result.empty() ? "" : "@") + prefix + literal;
	}
	return result;
}

bool same_path(const std::string &configured, const Path &path)
{
	std::string wanted = comparable_path(configured);
	if (wanted.find('@') == std::string::npos)
		return wanted == comparable_path(path.destination);
	return wanted == comparable_path(path.source + "@" + path.destination);
}

namespace {

struct Entry {
	std::string key, value, place;
};

struct Section {
	std::string kind, name, place;
	std::vector<Entry> entries;

	const Entry *find(const std::string &key) const
	{
		for (const Entry &entry : entries)
			if (entry.key == key)
				return &entry;
		return nullptr;
	}
};

class Reader {
public:
	explicit Reader(const Host &host) : host_(host) {}

	Config read()
	{
		if (host_.exists(kConfigFile))
			read_file(kConfigFile);
		for (const std::string &name : host_.list(kConfigFolder))
			if (name.ends_with(".conf") && name[0] != '.')
				read_file(kConfigFolder + "/" + name);
		for (const Section &section : sections_)
			check(section);
		Config config;
		// What a device inherits must be known before it is read.
		for (const Section &section : sections_)
			if (section.kind == "session")
				attempt(section,
					[&] { config.sessions.push_back(session(section)); });
		for (const Section &section : sections_) {
			if (section.kind == "device")
				attempt(section,
					[&] { config.devices.push_back(device(section)); });
			if (section.kind == "export")
				attempt(section,
					[&] { config.exports.push_back(exported(section)); });
		}
		check_devices(config);
		if (!mistakes_.empty())
			throw Failure(
			    Exit::Config,
			    fmt::format("the configuration has {} mistake{}:", mistakes_.size(),
					mistakes_.size() > 1 ? "s" : ""),
			    join(mistakes_, "\n"));
		return config;
	}

private:
	void mistake(const std::string &place, const std::string &text)
	{
		mistakes_.push_back(place + ": " + text);
	}

	// A mistake in one section does not hide those of the next.
	void attempt(const Section &section, const std::function<void()> &work)
	{
		try {
			work();
		} catch (const Failure &failure) {
			mistake(current_.empty() ? section.place : current_, failure.what());
		}
		current_.clear();
	}

	void read_file(const std::string &path)
	{
		std::optional<std::string> text = host_.read(path);
		if (!text)
			return mistake(path, "cannot be read");
		std::size_t number = 0, at = 0;
		bool in_section = false;
		while (at < text->size()) {
			std::size_t end = std::min(text->find('\n', at), text->size());
			std::string line = trim(text->substr(at, end - at));
			at = end + 1;
			std::string place = fmt::format("{}:{}", path, ++number);
			if (line.empty() || line[0] == '#' || line[0] == ';')
				continue;
			if (line[0] == '[') {
				in_section = open_section(line, place);
				continue;
			}
			std::size_t equals = line.find('=');
			if (equals == std::string::npos)
				mistake(
				    place,
				    fmt::format("'{}' is neither [section] nor key = value", line));
			else if (sections_.empty() || !in_section)
				mistake(place, "this key stands in no section");
			else
				add(trim(line.substr(0, equals)), trim(line.substr(equals + 1)),
				    place);
		}
	}

	bool open_section(const std::string &line, const std::string &place)
	{
		std::vector<std::string> words = split(line, "[] \t");
		static const std::vector<std::string> kKinds = {"defaults", "session", "device",
								"export"};
		// The lines below belong to it even if it is faulty.
		Section section{
		    words.empty() ? "" : words[0], words.size() > 1 ? words[1] : "", place, {}};
		bool named = section.kind != "defaults";
		if (line.back() != ']' || words.size() != (named ? 2u : 1u))
			mistake(
			    place,
			    fmt::format("'{}' is not [defaults], [session NAME], [device NAME] or "
					"[export NAME]",
					line));
		else if (std::find(kKinds.begin(), kKinds.end(), section.kind) == kKinds.end())
			mistake(place, fmt::format("there is no section '{}'{}", section.kind,
						   did_you_mean(section.kind, kKinds)));
		for (const Section &other : sections_)
			if (named && other.kind == section.kind && other.name == section.name &&
			    !section.name.empty())
				mistake(place,
					fmt::format("{} {} was described at {} already",
						    section.kind, section.name, other.place));
		sections_.push_back(section);
		return true;
	}

	void add(const std::string &key, const std::string &value, const std::string &place)
	{
		Section &section = sections_.back();
		std::vector<std::string> known;
		for (const ConfigKey &k : config_keys()) {
			bool here = (section.kind == "defaults" && k.defaults) ||
				    (section.kind == "session" && k.session) ||
				    (section.kind == "device" && k.device) ||
				    (section.kind == "export" && k.exported);
			if (!here)
				continue;
			known.push_back(k.name);
			if (key != k.name)
				continue;
			if (value.empty())
				return mistake(place, key + " has no value");
			if (!k.many && section.find(key))
				return mistake(place, fmt::format("{} is given at {} already", key,
								  section.find(key)->place));
			section.entries.push_back({key, value, place});
			return;
		}
		// A section that is unknown itself was reported.
		if (!known.empty())
			mistake(place, fmt::format("a {} has no key '{}'{}",
						   section.kind == "defaults" ? "section [defaults]"
									      : section.kind,
						   key, did_you_mean(key, known)));
	}

	// Values that stand for themselves are judged where they stand, used or not.
	void check(const Section &section)
	{
		for (const Entry &entry : section.entries)
			attempt(section, [&] {
				current_ = entry.place;
				if (const Setting *setting = find_setting(entry.key))
					check_setting(*setting, entry.value);
				if (entry.key == "port")
					number(entry, 1, 65535);
				if (entry.key == "poll-queues")
					number(entry, -1, 65536);
				if (entry.key == "no-path-timeout")
					number(entry, -1, 1'000'000);
				if (entry.key == "path")
					canonical_path(entry.value);
				std::vector<std::string> modes = {"ro", "rw", "migration"};
				if (entry.key == "access" && std::find(modes.begin(), modes.end(),
								       entry.value) == modes.end())
					throw Failure(
					    Exit::Config,
					    fmt::format("access '{}' is not one of {}{}",
							entry.value, join(modes, ", "),
							did_you_mean(entry.value, modes)));
			});
	}

	static std::int64_t number(const Entry &entry, std::int64_t min, std::int64_t max)
	{
		Integer value = parse_signed(entry.value);
		if (!value || *value < min || *value > max)
			throw Failure(Exit::Config,
				      fmt::format("{}: '{}' is no whole number from {} to {}",
						  entry.key, entry.value, min, max));
		return *value;
	}

	// The entry in the innermost section that has it.
	const Entry *inherited(const Section &section, const std::string &key) const
	{
		if (const Entry *own = section.find(key))
			return own;
		if (section.kind == "device")
			if (const Entry *session = section.find("session"))
				for (const Section &s : sections_)
					if (s.kind == "session" && s.name == session->value)
						if (const Entry *theirs = s.find(key))
							return theirs;
		const Entry *found = nullptr;
		for (const Section &s : sections_)
			if (s.kind == "defaults" && s.find(key))
				found = s.find(key);
		return found;
	}

	SessionConfig session(const Section &section)
	{
		check_session_name(section.name);
		SessionConfig config;
		config.name = section.name;
		config.place = section.place;
		for (const Entry &entry : section.entries)
			if (entry.key == "path") {
				current_ = entry.place;
				config.paths.push_back(canonical_path(entry.value));
			}
		current_.clear();
		for (const Setting &setting : session_settings())
			if (const Entry *entry = inherited(section, setting.name))
				config.settings[setting.name] = normal_value(setting, entry->value);
		if (config.paths.empty())
			throw Failure(Exit::Config,
				      fmt::format("session {} has no path", section.name));
		return config;
	}

	const Entry &needed(const Section &section, const char *key) const
	{
		const Entry *entry = section.find(key);
		if (!entry)
			throw Failure(Exit::Config, fmt::format("{} {} does not say its {}",
								section.kind, section.name, key));
		return *entry;
	}

	// The name is that of a systemd unit, too.
	static void check_device_name(const std::string &name)
	{
		auto legal = [](unsigned char c) {
			return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == ':';
		};
		if (name == "-" || !std::all_of(name.begin(), name.end(), legal) ||
		    name.size() > 200)
			throw Failure(
			    Exit::Config,
			    fmt::format("'{}' cannot be the name of a device: it has letters, "
					"digits and - _ . :",
					name));
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
		if (const Entry *entry = inherited(section, "access"))
			request.access = entry->value;
		if (const Entry *entry = inherited(section, "port"))
			request.port = parse_signed(entry->value).value_or(1234);
		if (const Entry *entry = inherited(section, "poll-queues"))
			request.poll_queues = parse_signed(entry->value).value_or(0);
		if (const Entry *entry = inherited(section, "no-path-timeout"))
			request.no_path_timeout = parse_signed(entry->value);
		check_request(request);
		return config;
	}

	ExportConfig exported(const Section &section)
	{
		ExportConfig config;
		config.place = section.place;
		config.request.name = section.name;
		config.request.device_path = needed(section, "device").value;
		if (const Entry *entry = section.find("access"))
			config.request.access = entry->value;
		for (const Entry &entry : section.entries)
			if (entry.key == "client")
				config.request.clients.push_back(entry.value);
		for (const Entry &entry : section.entries)
			if (entry.key == "address") {
				current_ = entry.place;
				config.request.addresses.push_back(check_address_rule(entry.value));
			}
		return config;
	}

	void check_devices(Config &config)
	{
		std::vector<std::string> names;
		for (const Section &s : sections_)
			if (s.kind == "session")
				names.push_back(s.name);
		for (DeviceConfig &device : config.devices) {
			MapRequest &request = device.request;
			if (const SessionConfig *session = config.session(request.session))
				request.paths = session->paths;
			else if (std::find(names.begin(), names.end(), request.session) ==
				 names.end())
				mistake(device.place,
					fmt::format("there is no section [session {}]{}",
						    request.session,
						    did_you_mean(request.session, names)));
			for (const DeviceConfig &other : config.devices)
				if (&other < &device && other.request.session == request.session &&
				    other.request.device_path == request.device_path)
					mistake(device.place,
						fmt::format("device {} is the same as {}",
							    device.name, other.name));
		}
	}

	const Host &host_;
	std::vector<Section> sections_;
	std::vector<std::string> mistakes_;
	std::string current_; // where the entry at hand stands
};

} // namespace

Config read_config(const Host &host)
{
	return Reader(host).read();
}

} // namespace rnbdadm
