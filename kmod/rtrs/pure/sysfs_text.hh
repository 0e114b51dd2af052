// SPDX-License-Identifier: GPL-2.0
// Input of the attributes that several RTRS objects have (protocol F.1, F.2). Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

constexpr int kMaxReconnectAttempts = 9999;
constexpr int kReconnectForever = -1;

// Statistics are cleared by "0" (documented) and by "1" (in-tree). EINVAL.
constexpr Status parse_reset(TextView t)
{
	t = cxxrt::trim_newline(t);
	if (t == TextView("0") || t == TextView("1"))
		return {};
	return err::einval;
}

// -1 to 9999. EINVAL, ERANGE.
constexpr Result<int> parse_reconnect_attempts(TextView t)
{
	return cxxrt::parse_int(t, kReconnectForever, kMaxReconnectAttempts);
}

} // namespace rtrs
