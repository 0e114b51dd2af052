// SPDX-License-Identifier: GPL-2.0
// Links below /dev/rnbd/by-session.
#include "links.hh"

#include "text.hh"

#include <algorithm>
#include <cctype>

namespace rnbdadm {

namespace {

// As udev has it: what is no ASCII stays.
bool stays(char c)
{
	constexpr std::string_view kKept = "#+-.:=@_/";
	const unsigned char byte = static_cast<unsigned char>(c);
	return std::isalnum(byte) || byte >= 0x80 || kKept.find(c) != kKept.npos;
}

} // namespace

std::string link_of(const std::string &session, const std::string &device_path)
{
	std::string link = "/dev/rnbd/by-session/" + session;
	for (char c : "/" + device_path)
		if (c != '/' || link.back() != '/')
			link += stays(c) ? c : '_';
	return link;
}

std::optional<Device> device_with_link(const Host &host, const std::string &session,
				       const std::string &device_path)
{
	const std::string link = link_of(session, device_path);
	auto collides = [&](const std::string &other) {
		return other != device_path && link_of(session, other) == link;
	};
	// The module's own links, "<device>@<session>": one look at a folder, however many disks.
	const std::string tail = "@" + session;
	const std::vector<std::string> names = host.list(kMappings);
	for (const std::string &name : names) {
		const std::string other = replace_all(
		    name.substr(0, name.size() - std::min(tail.size(), name.size())), "!", "/");
		if (name.ends_with(tail) && collides(other))
			return find_device(host, session, other);
	}
	if (!names.empty())
		return std::nullopt;
	for (const Device &device : read_devices(host))
		if (device.session == session && collides(device.device_path))
			return device;
	return std::nullopt;
}

} // namespace rnbdadm
