// SPDX-License-Identifier: GPL-2.0
// What an administrator may say of a session before it is opened. Its files of the same names take
// and show the same (protocol F.1). Pure.
#pragma once

#include <rtrs/pure/policy.hh>
#include <rtrs/pure/sysfs_text.hh>

namespace rtrs {

// As enum rtrs_clt_setting of rtrs.h.
enum class SessionSetting : u8 {
	Policy,
	ReconnectAttempts,
	RequestTimeout,
	HeartbeatInterval,
	HeartbeatMissed,
	Connections,
	ReconnectDelay,
	TypeOfService,
	QueueDepth,
	Count,
};

constexpr u32 kSessionSettings = static_cast<u32>(SessionSetting::Count);

class SessionSettings {
public:
	// One more is said, as its file would take it. EINVAL, and nothing has changed.
	constexpr Status say(SessionSetting setting, TextView text)
	{
		const Result<int> value = parse(setting, text);
		if (!value.ok())
			return err::einval;
		said_ |= bit(setting);
		values_[static_cast<u32>(setting)] = value.value();
		return {};
	}
	constexpr bool has(SessionSetting setting) const { return said_ & bit(setting); }
	constexpr int get(SessionSetting setting, int otherwise) const
	{
		return has(setting) ? values_[static_cast<u32>(setting)] : otherwise;
	}
	// Whether all that is said is so already; now(SessionSetting) gives a number.
	template <class F> constexpr bool agree(F &&now) const
	{
		for (u32 i = 0; i < kSessionSettings; i++) {
			const auto setting = static_cast<SessionSetting>(i);
			if (has(setting) && values_[i] != now(setting))
				return false;
		}
		return true;
	}

private:
	static constexpr u32 bit(SessionSetting s) { return 1u << static_cast<u32>(s); }
	static constexpr Result<int> parse(SessionSetting setting, TextView text)
	{
		switch (setting) {
		case SessionSetting::Policy: {
			const Result<Policy> policy = parse_policy(text);
			if (!policy.ok())
				return policy.error();
			return static_cast<int>(policy.value());
		}
		case SessionSetting::ReconnectAttempts:
			return parse_reconnect_attempts(text);
		case SessionSetting::RequestTimeout:
			return parse_request_timeout(text);
		case SessionSetting::HeartbeatInterval:
			return parse_heartbeat_interval(text);
		case SessionSetting::HeartbeatMissed:
			return parse_heartbeat_missed(text);
		case SessionSetting::Connections:
			return parse_connections(text);
		case SessionSetting::ReconnectDelay:
			return parse_reconnect_delay(text);
		case SessionSetting::TypeOfService:
			return parse_tos(text);
		case SessionSetting::QueueDepth:
			return parse_queue_depth(text);
		case SessionSetting::Count:
			break;
		}
		return err::einval;
	}

	u32 said_ = 0;
	int values_[kSessionSettings] = {};
};

} // namespace rtrs
