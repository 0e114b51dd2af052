// SPDX-License-Identifier: GPL-2.0
// Where a device name of a client leads on the server (protocol E.2, F.5, G.2). Pure.
//
// Only text: that the path resolves beneath the search root, and to a block device, is checked
// where it is opened.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// Longest path and longest search path, with terminator.
constexpr usize kPathSize = 4096;

constexpr TextView kSessionToken = "%SESSNAME%";

// Whether ".." is one of the components that slashes separate. "a..b" is a legal name.
constexpr bool has_parent_component(TextView path)
{
	while (!path.empty()) {
		usize end = path.find('/');
		if (path.first(end) == TextView(".."))
			return true;
		path = path.skip(end + 1);
	}
	return false;
}

// The module parameter dev_search_path: up to its last newline. EINVAL if it has 4096 bytes or
// more, or is empty.
constexpr Result<TextView> parse_search_path(TextView t)
{
	for (usize i = t.size(); i > 0; i--)
		if (t[i - 1] == '\n') {
			t = t.first(i - 1);
			break;
		}
	if (t.empty() || t.size() >= kPathSize)
		return err::einval;
	return t;
}

// Whether the search path depends on the session's name.
constexpr bool names_session(TextView search)
{
	for (; !search.empty(); search = search.skip(1))
		if (search.starts_with(kSessionToken))
			return true;
	return false;
}

namespace detail {
// Appends `t` and squeezes slashes that would stand side by side.
constexpr void put_squeezed(cxxrt::TextWriter &out, TextView t)
{
	for (usize i = 0; i < t.size(); i++) {
		usize n = out.size();
		if (t[i] == '/' && n && out.text()[n - 1] == '/')
			continue;
		out.put(t[i]);
	}
}
} // namespace detail

// Writes search "/" name, with every %SESSNAME% of the search path replaced by the session's name
// (the text behind it is kept) and repeated slashes squeezed. `out` is fresh and should hold
// kPathSize bytes. EINVAL if the name has a ".." component or the path is too long.
constexpr Status write_device_path(cxxrt::TextWriter &out, TextView search, TextView session,
				   TextView name)
{
	if (name.empty() || has_parent_component(name))
		return err::einval;
	if (search.size() + name.size() >= kPathSize)
		return err::einval;
	while (!search.empty()) {
		if (search.starts_with(kSessionToken)) {
			detail::put_squeezed(out, session);
			search = search.skip(kSessionToken.size());
		} else {
			detail::put_squeezed(out, search.first(1));
			search = search.skip(1);
		}
	}
	detail::put_squeezed(out, "/");
	detail::put_squeezed(out, name);
	if (out.truncated() || out.size() >= kPathSize)
		return err::einval;
	return {};
}

} // namespace rnbd
