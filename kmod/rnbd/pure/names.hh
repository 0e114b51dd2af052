// SPDX-License-Identifier: GPL-2.0
// Names of sysfs links (protocol F.3). Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// Room for "<path>@<session>" of the longest path and session, with terminator.
constexpr usize kLinkNameSize = 254 + 1 + 254 + 1;

// Writes "<path>@<session>", each '/' as '!'. ENAMETOOLONG if `out` is too small.
constexpr Status write_link_name(cxxrt::TextWriter &out, TextView path, TextView session)
{
	for (usize i = 0; i < path.size(); i++)
		out.put(path[i] == '/' ? '!' : path[i]);
	out.put('@');
	for (usize i = 0; i < session.size(); i++)
		out.put(session[i] == '/' ? '!' : session[i]);
	if (out.truncated())
		return err::enametoolong;
	return {};
}

} // namespace rnbd
