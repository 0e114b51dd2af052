// SPDX-License-Identifier: GPL-2.0
// Settings of a session.
#include "settings.hh"

#include "text.hh"

#include <fmt/format.h>
#include <rtrs/pure/policy.hh>
#include <rtrs/pure/sysfs_text.hh>

namespace rnbdadm {

namespace {

bool legal_number(const std::string &value, std::int64_t min, std::int64_t max)
{
	Integer number = parse_signed(value);
	return number && *number >= min && *number <= max;
}

} // namespace

const std::vector<Setting> &session_settings()
{
	static const std::vector<Setting> kAll = {
	    {"policy",
	     {"mp_policy", "mpath_policy"},
	     "round-robin, min-inflight or min-latency",
	     [](const std::string &v) { return rtrs::parse_policy(view(v)).ok(); },
	     "how a request chooses its path: round-robin, min-inflight or min-latency"},
	    {"reconnect-attempts",
	     {"max_reconnect_attempts"},
	     "-1 (for ever) to 9999",
	     [](const std::string &v) { return rtrs::parse_reconnect_attempts(view(v)).ok(); },
	     "attempts in a row before a lost path gives up, -1 for ever"},
	    {"request-timeout",
	     {"request_timeout"},
	     "0 (no limit) to 3600 seconds",
	     [](const std::string &v) { return rtrs::parse_request_timeout(view(v)).ok(); },
	     "seconds that a request waits for the server before its path starts again"},
	    {"heartbeat-interval",
	     {"heartbeat_interval_ms"},
	     "100 to 60000 milliseconds",
	     [](const std::string &v) {
		     return legal_number(v, rtrs::kMinHeartbeatIntervalMs,
					 rtrs::kMaxHeartbeatIntervalMs);
	     },
	     "milliseconds between two heartbeats of a path"},
	    {"heartbeat-missed-max",
	     {"heartbeat_missed_max"},
	     "a count from 1 to 100",
	     [](const std::string &v) {
		     return legal_number(v, rtrs::kMinHeartbeatMissed, rtrs::kMaxHeartbeatMissed);
	     },
	     "heartbeats without answer after which a path counts as lost"},
	    {"reconnect-delay",
	     {"reconnect_delay"},
	     "1 to 3600 seconds",
	     [](const std::string &v) {
		     return legal_number(v, rtrs::kMinReconnectDelay, rtrs::kMaxReconnectDelay);
	     },
	     "seconds of the longest pause before a lost path tries to connect again"},
	    {"tos",
	     {"tos"},
	     "-1 (as the kernel has it) to 255",
	     [](const std::string &v) {
		     return legal_number(v, rtrs::kDefaultTypeOfService, rtrs::kMaxTypeOfService);
	     },
	     "type of service of what both sides send, for switches; holds from a path's next "
	     "connection on"},
	    {"connections",
	     {"nr_connections"},
	     "0 (one for each CPU) to 1024",
	     [](const std::string &v) { return legal_number(v, 0, rtrs::kMaxIoConnections); },
	     "connections of each path, 0 for one for each CPU; fixed while the session is open",
	     true},
	    {"queue-depth",
	     {"queue_depth"},
	     "0 (as many as the server takes) or 8 to 65535 requests",
	     [](const std::string &v) {
		     return legal_number(v, rtrs::kMinQueueDepth, rtrs::kMaxToldQueueDepth) ||
			    legal_number(v, 0, 0);
	     },
	     "requests of all disks of the session under way at once, 0 for as many as the server "
	     "takes; fixed while the session is open",
	     true},
	};
	return kAll;
}

TextKey option_of(const Setting &setting)
{
	const bool policy = std::string(setting.name) == "policy";
	return {setting.name, 0, "VALUE", policy ? "round-robin|min-inflight|min-latency" : ""};
}

const Setting *find_setting(const std::string &name)
{
	for (const Setting &setting : session_settings())
		if (name == setting.name)
			return &setting;
	return nullptr;
}

std::vector<std::string> setting_names()
{
	std::vector<std::string> names;
	for (const Setting &setting : session_settings())
		names.push_back(setting.name);
	return names;
}

std::vector<std::string> changeable_names()
{
	std::vector<std::string> names;
	for (const Setting &setting : session_settings())
		if (!setting.fixed)
			names.push_back(setting.name);
	return names;
}

void refuse_fixed(const std::string &session, const Setting &setting)
{
	throw Failure(
	    Exit::Failed,
	    fmt::format("{} of session {} cannot change while it is open", setting.name, session),
	    "unmap its devices first: it ends with the last of them");
}

void check_setting(const Setting &setting, const std::string &value)
{
	if (!setting.legal(value))
		throw Failure(Exit::Usage, fmt::format("{}: '{}' is not {}", setting.name, value,
						       setting.range));
}

std::string normal_value(const Setting &setting, const std::string &value)
{
	if (std::string(setting.name) != "policy")
		return value;
	auto policy = rtrs::parse_policy(view(value));
	if (!policy.ok())
		return value;
	std::string text = rtrs::to_text(policy.value());
	return text.substr(0, text.find(' '));
}

std::optional<std::string> running_value(const Host &host, const std::string &session,
					 const Setting &setting)
{
	for (const char *file : setting.files) {
		std::optional<std::string> text =
		    host.read(fmt::format("{}/{}/{}", kRtrsClient, session, file));
		if (text)
			return trim(text->substr(0, text->find(" (")));
	}
	return std::nullopt;
}

void apply_setting(Call &call, const std::string &session, const Setting &setting,
		   const std::string &value)
{
	for (const char *file : setting.files) {
		std::string path = fmt::format("{}/{}/{}", kRtrsClient, session, file);
		if (!call.host.exists(path))
			continue;
		if (setting.fixed)
			refuse_fixed(session, setting);
		call.write(
		    path, normal_value(setting, value), Action::Configure,
		    fmt::format("cannot set {} of session {} to {}", setting.name, session, value));
		return;
	}
	throw Failure(Exit::Missing,
		      fmt::format("the loaded module rtrs_client has no setting {}", setting.name));
}

} // namespace rnbdadm
