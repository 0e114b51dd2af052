// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/control.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/module.hh>

namespace rnbd::client {

using cxxrt::lock_class;

namespace {

using ControlFile = cxxrt::DeviceFile<Control>;
constinit const ControlFile kControlFiles[] = {
    ControlFile::read_write("map_device", &Control::show_map, &Control::store_map),
    ControlFile::read_write("discover", &Control::show_discover, &Control::store_discover),
};
// Names of exports are no matter of every user of this machine.
constinit const auto kDiscovered =
    cxxrt::DeviceBlob<Control>::read_only("discovered", 0400, &Control::read_discovered);

// Only after all options are known, since dest_port= may follow path=.
Result<cxxrt::Array<rtrs_addr_pair>> parse_paths(const MapOptions &options)
{
	auto pairs = TRY(cxxrt::Array<rtrs_addr_pair>::create(options.path_count));
	for (usize i = 0; i < options.path_count; i++) {
		const TextView text = options.paths[i];
		const int code =
		    rtrs_addr_parse_pair(text.data(), text.size(), options.port, &pairs[i]);
		if (code) {
			log_error("ctl", "Bad address %.*s: %d", static_cast<int>(text.size()),
				  text.data(), code);
			return cxxrt::Error::from_code(code);
		}
	}
	return pairs;
}

static_assert(kSettings == RTRS_CLT_SETTINGS);

// The transport wants texts that end.
class SettingTexts {
public:
	explicit SettingTexts(const MapOptions &options)
	{
		for (usize i = 0; i < kSettings; i++) {
			texts_[i].assign(options.settings[i]);
			if (!options.settings[i].empty())
				settings_.text[i] = texts_[i].c_str();
		}
	}
	const rtrs_clt_settings &get() const { return settings_; }

private:
	cxxrt::TextBuffer<kMaxSetting + 1> texts_[kSettings];
	rtrs_clt_settings settings_{};
};

} // namespace

Status Control::create()
{
	class_ = TRY(cxxrt::DeviceClass::create(lock_class<"rnbd-client">()));
	ctl_ = TRY(cxxrt::ClassDevice::create(class_, "ctl", this, kControlFiles));
	commands_ = true;
	TRY(ctl_.add(kDiscovered));
	devices_ = TRY(cxxrt::SysfsDir::create_empty(ctl_.kobj(), "devices", this));
	ctl_.announce();
	return {};
}

void Control::stop_commands()
{
	if (commands_)
		for (const ControlFile &file : kControlFiles)
			// raw: the file goes before its directory, when no more commands may come
			sysfs_remove_file(ctl_.kobj(), &file.attr.attr);
	commands_ = false;
}

void Control::remove()
{
	devices_.reset();
	ctl_.reset();
	class_.reset();
}

void Control::show_map(cxxrt::SysfsText &out)
{
	out.print("Usage: echo \"sessname=<session> path=<[src@]dst> [path=<[src@]dst>] "
		  "device_path=<path at the server> [dest_port=<port>] "
		  "[access_mode=<ro|rw|migration|shared>] [nr_poll_queues=<number>] "
		  "[no_path_timeout=<seconds|-1>] [auth=<off|optional|required>] "
		  "[key=<name>] [mp_policy=<policy>] [max_reconnect_attempts=<number|-1>] "
		  "[request_timeout=<seconds>] [heartbeat_interval_ms=<milliseconds>] "
		  "[heartbeat_missed_max=<number>] [nr_connections=<number>] "
		  "[reconnect_delay=<seconds>] [tos=<number|-1>] [queue_depth=<number>] "
		  "[owner=<word>]\" > map_device\n"
		  "\naddr ::= [ ip:<ipv4> | ip:<ipv6> | gid:<gid> ]\n");
}

Status Control::store_map(TextView text, cxxrt::SysfsCall &)
{
	MapOptions options;
	Status parsed = parse_map_options(text, static_cast<int>(nr_cpu_ids), options);
	if (!parsed.ok()) {
		log_error("map_device", "Bad options: %d", parsed.code());
		return parsed;
	}
	auto paths = TRY(parse_paths(options));
	const SettingTexts settings(options);
	// Before there is a session whose failure others would share.
	if (const int code = rtrs_clt_check_settings(nullptr, &settings.get())) {
		log_error("map_device", "A bad value for a setting of the session");
		return cxxrt::Error::from_code(code);
	}
	return module_.map_device(options, {.paths = paths.data(),
					    .path_count = static_cast<u32>(paths.size()),
					    .port = options.port,
					    .auth = options.auth,
					    .key = options.key,
					    .settings = settings.get()});
}

void Control::show_discover(cxxrt::SysfsText &out)
{
	out.print("Usage: echo \"sessname=<session> [path=<[src@]dst>] [dest_port=<port>] "
		  "[auth=<off|optional|required>] [key=<name>]\" > discover\n");
}

Status Control::store_discover(TextView text, cxxrt::SysfsCall &)
{
	MapOptions options;
	Status parsed = parse_discover_options(text, options);
	if (!parsed.ok()) {
		log_error("discover", "Bad options: %d", parsed.code());
		return parsed;
	}
	auto paths = TRY(parse_paths(options));
	SessionUse use =
	    TRY(module_.sessions().acquire(options.session, 0,
					   {.paths = paths.data(),
					    .path_count = static_cast<u32>(paths.size()),
					    .port = options.port,
					    .auth = options.auth,
					    .key = options.key,
					    .any_queues = true}));
	return discovery_.ask(*use.session(), cxxrt::trim_newline(text));
}

usize Control::read_discovered(u64 from, char *to, usize size)
{
	return discovery_.read(from, to, size);
}

} // namespace rnbd::client
