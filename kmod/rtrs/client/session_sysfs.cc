// SPDX-License-Identifier: GPL-2.0
// The files of a session (protocol F.1).
#include <cxxrt/log.hh>
#include <rtrs/client/module.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {

constinit const DeviceFile<Session> Session::kFiles[] = {
    DeviceFile<Session>::read_write("max_reconnect_attempts", &Session::show_max_reconnects,
				    &Session::store_max_reconnects),
    DeviceFile<Session>::read_write("request_timeout", &Session::show_request_timeout,
				    &Session::store_request_timeout),
    DeviceFile<Session>::read_write("heartbeat_interval_ms", &Session::show_heartbeat_interval,
				    &Session::store_heartbeat_interval),
    DeviceFile<Session>::read_write("heartbeat_missed_max", &Session::show_heartbeat_missed,
				    &Session::store_heartbeat_missed),
    DeviceFile<Session>::read_write("reconnect_delay", &Session::show_reconnect_delay,
				    &Session::store_reconnect_delay),
    DeviceFile<Session>::read_write("tos", &Session::show_tos, &Session::store_tos),
    DeviceFile<Session>::read_only("nr_connections", &Session::show_connections),
    DeviceFile<Session>::read_only("queue_depth", &Session::show_queue_depth),
    // The documented name and the in-tree one.
    DeviceFile<Session>::read_write("mp_policy", &Session::show_policy, &Session::store_policy),
    DeviceFile<Session>::read_write("mpath_policy", &Session::show_policy, &Session::store_policy),
    DeviceFile<Session>::read_only("dest_port", &Session::show_dest_port),
    DeviceFile<Session>::read_only("auth", &Session::show_auth),
    DeviceFile<Session>::read_only("key", &Session::show_key),
    DeviceFile<Session>::read_only("downgrades", &Session::show_downgrades),
    DeviceFile<Session>::read_write("add_path", &Session::show_add_path, &Session::store_add_path),
};

// The device is announced when the session is open.
Status Session::create_files()
{
	device_ = TRY(ClassDevice::create(module_->device_class, name(), this, kFiles));
	paths_dir_ = TRY(SysfsDir::create_empty(device_.kobj(), "paths", this));
	debug_dir_ = DebugDir::create(name(), &module_->debug_dir);
	return {};
}

// No path has a directory any more.
void Session::remove_files()
{
	debug_dir_.reset();
	paths_dir_.reset();
	device_.reset();
}

void Session::show_max_reconnects(SysfsText &out)
{
	out.print("%d\n", max_reconnects());
}

Status Session::store_max_reconnects(TextView text, SysfsCall &)
{
	const int attempts = TRY(parse_reconnect_attempts(text));
	WRITE_ONCE(max_reconnects_, attempts);
	return {};
}

void Session::show_request_timeout(SysfsText &out)
{
	out.print("%u\n", request_timeout());
}

Status Session::store_request_timeout(TextView text, SysfsCall &)
{
	const int seconds = TRY(parse_request_timeout(text));
	WRITE_ONCE(request_timeout_, static_cast<u32>(seconds));
	return {};
}

void Session::show_reconnect_delay(SysfsText &out)
{
	out.print("%u\n", reconnect_delay());
}

// A pause that has begun ends as it was to.
Status Session::store_reconnect_delay(TextView text, SysfsCall &)
{
	const int seconds = TRY(parse_reconnect_delay(text));
	WRITE_ONCE(reconnect_delay_, static_cast<u32>(seconds));
	return {};
}

void Session::show_tos(SysfsText &out)
{
	out.print("%d\n", tos());
}

// A connection keeps the one that it began with: an adapter does not change it while it sends.
Status Session::store_tos(TextView text, SysfsCall &)
{
	const int tos = TRY(parse_tos(text));
	WRITE_ONCE(tos_, tos);
	return {};
}

bool Session::has_settings(const SessionSettings &settings) const
{
	return settings.agree([this](SessionSetting setting) -> int {
		switch (setting) {
		case SessionSetting::Policy:
			return static_cast<int>(policy());
		case SessionSetting::ReconnectAttempts:
			return max_reconnects();
		case SessionSetting::RequestTimeout:
			return static_cast<int>(request_timeout());
		case SessionSetting::HeartbeatInterval:
			return static_cast<int>(READ_ONCE(heartbeat_limits_.interval_ms));
		case SessionSetting::HeartbeatMissed:
			return static_cast<int>(READ_ONCE(heartbeat_limits_.missed_max));
		case SessionSetting::Connections:
			return static_cast<int>(told_connections_);
		case SessionSetting::ReconnectDelay:
			return static_cast<int>(reconnect_delay());
		case SessionSetting::TypeOfService:
			return tos();
		case SessionSetting::QueueDepth:
			return static_cast<int>(told_depth_);
		case SessionSetting::Count:
			break;
		}
		return 0;
	});
}

// Under paths_lock_.
void Session::apply_heartbeat_limits()
{
	const HeartbeatLimits limits = heartbeat_choice_.limits();
	WRITE_ONCE(heartbeat_limits_.interval_ms, limits.interval_ms);
	WRITE_ONCE(heartbeat_limits_.missed_max, limits.missed_max);
}

void Session::show_heartbeat_interval(SysfsText &out)
{
	out.print("%u\n", READ_ONCE(heartbeat_limits_.interval_ms));
}

// A path that waits for the next tick of a long interval begins the new one at once.
Status Session::store_heartbeat_interval(TextView text, SysfsCall &)
{
	const int ms = TRY(parse_heartbeat_interval(text));
	LockGuard<Mutex> held(paths_lock_);
	heartbeat_choice_.set_interval(static_cast<u32>(ms));
	apply_heartbeat_limits();
	for (Path &path : paths_)
		path.restart_heartbeat();
	return {};
}

void Session::show_heartbeat_missed(SysfsText &out)
{
	out.print("%u\n", READ_ONCE(heartbeat_limits_.missed_max));
}

Status Session::store_heartbeat_missed(TextView text, SysfsCall &)
{
	const int missed = TRY(parse_heartbeat_missed(text));
	LockGuard<Mutex> held(paths_lock_);
	heartbeat_choice_.set_missed(static_cast<u32>(missed));
	apply_heartbeat_limits();
	return {};
}

void Session::show_queue_depth(SysfsText &out)
{
	out.print("%u\n", told_depth_);
}

void Session::show_connections(SysfsText &out)
{
	out.print("%u\n", told_connections_);
}

void Session::show_policy(SysfsText &out)
{
	out.print("%s\n", to_text(READ_ONCE(policy_)));
}

Status Session::store_policy(TextView text, SysfsCall &)
{
	const Policy policy = TRY(parse_policy(text));
	WRITE_ONCE(policy_, policy);
	return {};
}

// The other half of where its paths lead: their addresses have none.
void Session::show_dest_port(SysfsText &out)
{
	out.print("%u\n", port_);
}

void Session::show_auth(SysfsText &out)
{
	out.print("%s\n", to_text(auth_.policy));
}

// Its name, or nothing: nobody shows more of it.
void Session::show_key(SysfsText &out)
{
	out.print("%s\n", auth_.key.c_str());
}

void Session::show_downgrades(SysfsText &out)
{
	out.print("%llu\n", __atomic_load_n(&downgrades_, __ATOMIC_RELAXED));
}

void Session::show_add_path(SysfsText &out)
{
	out.print("Usage: echo [<source addr>@]<destination addr> > add_path\n\n"
		  "*addr ::= [ ip:<ipv4|ipv6> | gid:<gid> ]\n");
}

Status Session::store_add_path(TextView text, SysfsCall &)
{
	rtrs_addr_pair pair{};
	// Whatever is wrong with the text, it is invalid.
	if (rtrs_addr_parse_pair(text.data(), text.size(), port_, &pair))
		return err::einval;
	return add_path(pair);
}

} // namespace rtrs::client
