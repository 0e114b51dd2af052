// SPDX-License-Identifier: GPL-2.0
// Which session names are legal (protocol A.4, G.2). Pure.
#pragma once

#include <rtrs/wire/checked_name.hh>
#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// EINVAL unless 1 to 254 printable ASCII characters without '/' and '.', and not "ctl", which is a
// directory of its own beside the sessions. "." and ".." are covered by the ban on dots.
constexpr Status check_session_name(TextView name)
{
	if (name.empty() || name.size() >= kSessionNameSize)
		return err::einval;
	for (usize i = 0; i < name.size(); i++) {
		char c = name[i];
		if (c < ' ' || c > '~' || c == '/' || c == '.')
			return err::einval;
	}
	if (name == TextView("ctl"))
		return err::einval;
	return {};
}

struct SessionNameRule {
	enum : u32 { kSize = kSessionNameSize };
	static constexpr Status check(TextView name) { return check_session_name(name); }
};
using SessionName = CheckedName<SessionNameRule>;

} // namespace rtrs
