// SPDX-License-Identifier: GPL-2.0
// What an administrator writes into map_device (protocol F.3). Pure.
//
// Options are separated by spaces and come in any order; the last of equals wins, only path=
// collects. In-tree, dest_port= must precede path=; here a path is resolved after all was read, so
// it need not.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/pure/access.hh>
#include <rnbd/pure/no_path.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// More are added to the session later (add_path).
constexpr usize kMaxMapPaths = 6;
constexpr usize kMaxSessionName = 254;
constexpr usize kMaxDevicePath = kDeviceNameSize - 1;
constexpr u16 kDefaultPort = 1234;
// These are for the transport to judge.
constexpr usize kMaxAuthPolicy = 15;
constexpr usize kMaxKeyName = 63;
constexpr usize kMaxSetting = 15;
// Long enough for the name of a systemd unit's instance.
constexpr usize kMaxOwner = 200;

// Settings of the session by the names of its files, in the order of enum rtrs_clt_setting.
constexpr TextView kSettingOptions[] = {"mp_policy",
					"max_reconnect_attempts",
					"request_timeout",
					"heartbeat_interval_ms",
					"heartbeat_missed_max",
					"nr_connections",
					"reconnect_delay",
					"tos",
					"queue_depth"};
constexpr usize kSettings = sizeof(kSettingOptions) / sizeof(kSettingOptions[0]);

// Texts are views of the parsed input.
struct MapOptions {
	TextView session;
	TextView device_path;
	TextView paths[kMaxMapPaths]; // "[src@]dst", not looked into
	usize path_count = 0;
	u16 port = kDefaultPort;
	AccessMode access_mode = AccessMode::ReadWrite;
	u32 poll_queues = 0;
	int no_path_timeout = 0; // as NoPathRule has it
	TextView auth;		 // a policy of protocol J.3, not looked into; empty: none is said
	TextView key;		 // the name of a key, likewise
	TextView settings[kSettings]; // likewise
	TextView owner;		      // what user space calls the mapping; without a meaning here
};

namespace detail {
constexpr Status parse_map_option(TextView option, int cpus, MapOptions &out)
{
	usize equals = option.find('=');
	if (equals == option.size())
		return err::einval;
	TextView key = option.first(equals);
	TextView value = option.skip(equals + 1);
	if (value.empty())
		return err::einval;

	if (key == TextView("sessname")) {
		if (value.size() > kMaxSessionName)
			return err::einval;
		out.session = value;
		return {};
	}
	if (key == TextView("device_path")) {
		if (value.size() > kMaxDevicePath)
			return err::einval;
		out.device_path = value;
		return {};
	}
	if (key == TextView("path")) {
		if (out.path_count == kMaxMapPaths)
			return err::enomem;
		out.paths[out.path_count++] = value;
		return {};
	}
	if (key == TextView("dest_port")) {
		Result<int> port = cxxrt::parse_int(value, 0, 65535);
		if (!port.ok())
			return err::einval;
		out.port = static_cast<u16>(port.value());
		return {};
	}
	if (key == TextView("access_mode")) {
		Result<AccessMode> mode = parse_access_mode(value);
		if (!mode.ok())
			return mode.error();
		out.access_mode = mode.value();
		return {};
	}
	if (key == TextView("nr_poll_queues")) {
		Result<int> queues = cxxrt::parse_int(value, -1, cpus);
		if (!queues.ok())
			return err::einval;
		out.poll_queues = static_cast<u32>(queues.value() < 0 ? cpus : queues.value());
		return {};
	}
	if (key == TextView("no_path_timeout")) {
		Result<int> timeout = parse_no_path_timeout(value);
		if (!timeout.ok())
			return err::einval;
		out.no_path_timeout = timeout.value();
		return {};
	}
	if (key == TextView("auth")) {
		if (value.size() > kMaxAuthPolicy)
			return err::einval;
		out.auth = value;
		return {};
	}
	if (key == TextView("key")) {
		if (value.size() > kMaxKeyName)
			return err::einval;
		out.key = value;
		return {};
	}
	if (key == TextView("owner")) {
		if (value.size() > kMaxOwner)
			return err::einval;
		out.owner = value;
		return {};
	}
	for (usize i = 0; i < kSettings; i++) {
		if (key != kSettingOptions[i])
			continue;
		if (value.size() > kMaxSetting)
			return err::einval;
		out.settings[i] = value;
		return {};
	}
	return err::einval;
}

// parse(option) for each, until one is an error. Spaces may repeat.
template <class F> constexpr Status for_each_option(TextView input, F &&parse)
{
	input = cxxrt::trim_newline(input);
	while (!input.empty()) {
		usize end = input.find(' ');
		TextView option = input.first(end);
		input = input.skip(end + 1);
		if (option.empty())
			continue;
		Status s = parse(option);
		if (!s.ok())
			return s;
	}
	return {};
}
} // namespace detail

// `out` is fresh. `cpus` is nr_cpu_ids. EINVAL for an option that is unknown, empty or bad, or a
// mandatory one that is missing; ENOMEM for a seventh path (the in-tree errno).
constexpr Status parse_map_options(TextView input, int cpus, MapOptions &out)
{
	Status s = detail::for_each_option(
	    input, [&](TextView option) { return detail::parse_map_option(option, cpus, out); });
	if (!s.ok())
		return s;
	if (out.session.empty() || out.device_path.empty())
		return err::einval;
	return {};
}

// What is written into discover: those of the options that say to whom the question goes. `out` is
// fresh. Errors as above.
constexpr Status parse_discover_options(TextView input, MapOptions &out)
{
	constexpr TextView kOptions[] = {"sessname", "path", "dest_port", "auth", "key"};
	Status s = detail::for_each_option(input, [&](TextView option) -> Status {
		for (TextView known : kOptions)
			if (option.first(option.find('=')) == known)
				return detail::parse_map_option(option, 0, out);
		return err::einval;
	});
	if (!s.ok())
		return s;
	if (out.session.empty())
		return err::einval;
	return {};
}

enum class UnmapMode : u8 {
	Normal, // EBUSY if somebody has it open
	Force,
};

// What is written into unmap_device. EINVAL.
constexpr Result<UnmapMode> parse_unmap_mode(TextView t)
{
	t = cxxrt::trim_newline(t);
	if (t == TextView("normal"))
		return UnmapMode::Normal;
	if (t == TextView("force"))
		return UnmapMode::Force;
	return err::einval;
}

} // namespace rnbd
