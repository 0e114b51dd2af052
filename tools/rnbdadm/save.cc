// SPDX-License-Identifier: GPL-2.0
// The configuration of what runs.
#include "config.hh"
#include "names.hh"
#include "settings.hh"
#include "text.hh"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

namespace rnbdadm {

std::string name_for(const Device &device, std::map<std::string, int> &taken)
{
	std::string base = device.owner;
	if (base.empty() || base == "-") {
		// Without what a name may not hold.
		base = device.device_path.substr(device.device_path.rfind('/') + 1);
		for (char &c : base)
			if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.')
				c = '-';
		if (base.empty())
			base = device.name;
	}
	// How often each was asked for, so that what was tried for one is not tried for the next.
	std::string name = base;
	for (int &n = taken[base]; taken.contains(name) && n > 0;)
		name = fmt::format("{}-{}", base, ++n);
	taken[name]++;
	return name;
}

namespace {

// As it is configured, if that has a name which stands for this path.
std::string word_for(const Host &host, const SessionConfig *configured, const Path &path)
{
	for (const std::string &word : configured ? configured->paths : std::vector<std::string>())
		try {
			const std::vector<std::string> all = path_candidates(host, word);
			if (all[0] != word &&
			    std::any_of(all.begin(), all.end(), [&](const std::string &candidate) {
				    return same_path(candidate, path);
			    }))
				return word;
		} catch (const Failure &) {
			// Nobody knows it: the path stays as it runs.
		}
	return path.source + "@" + path.destination;
}

// What rnbd.conf would take for one.
bool has_comment(const std::string &names)
{
	return names.find('#') != std::string::npos;
}

} // namespace

std::string section_of(const Host &host, const Session &session, const SessionConfig *configured)
{
	std::string text = fmt::format("[session {}]\n", session.name);
	for (const Path &path : session.paths)
		text += fmt::format("path = {}\n", word_for(host, configured, path));
	if (session.server_port)
		text += fmt::format("port = {}\n", *session.server_port);
	else if (configured && configured->port != 1234)
		text += fmt::format("port = {}\n", configured->port);
	if (session.auth)
		text += fmt::format("auth = {}\n", *session.auth);
	if (session.key && !session.key->empty())
		text += fmt::format("key = {}\n", *session.key);
	for (const Setting &setting : session_settings())
		if (auto value = running_value(host, session.name, setting))
			text += fmt::format("{} = {}\n", setting.name, *value);
	return text;
}

std::string section_of(const Device &device, const std::string &name)
{
	std::string text = fmt::format("[device {}]\nsession = {}\ndevice = {}\naccess = {}\n",
				       name, device.session, device.device_path, device.access);
	if (device.poll_queues && *device.poll_queues)
		text += fmt::format("poll-queues = {}\n", *device.poll_queues);
	if (device.no_path_timeout)
		text += fmt::format("no-path-timeout = {}\n", *device.no_path_timeout);
	return text;
}

std::string section_of(const ExportRequest &exported)
{
	std::string text =
	    fmt::format("[export {}]\ndevice = {}\n", exported.name, exported.device_path);
	if (!exported.access.empty())
		text += fmt::format("access = {}\n", exported.access);
	if (!exported.local_use.empty())
		text += fmt::format("local-use = {}\n", exported.local_use);
	for (const std::string &client : exported.clients)
		text += fmt::format("client = {}\n", client);
	for (const std::string &key : exported.keys)
		text += fmt::format("key = {}\n", key);
	for (const std::string &address : exported.addresses)
		text += fmt::format("address = {}\n", address);
	return text;
}

std::string saved_config(const Host &host, const Config &known)
{
	std::string text = "# Written by rnbdadm save; see rnbd.conf(5).\n";
	std::vector<Device> devices = read_devices(host);
	for (const Session &session : read_sessions(host, false)) {
		if (has_comment(session.name)) {
			text += fmt::format(
			    "\n# Left out, with its devices: session '{}' has a '#' in its name\n",
			    printable(session.name));
			std::erase_if(devices,
				      [&](const Device &d) { return d.session == session.name; });
			continue;
		}
		text += "\n" + section_of(host, session, known.session(session.name));
	}
	std::map<std::string, int> taken;
	for (const Device &device : devices)
		text += "\n" + section_of(device, name_for(device, taken));
	for (const NameList &list : read_name_lists(host)) {
		// Never fewer names than there are: they would be everybody's.
		if (has_comment(join(list.clients, " "))) {
			text += fmt::format("\n# Left out, a name has a '#' in it: key {}: {}\n",
					    list.key, printable(join(list.clients, " ")));
			continue;
		}
		// Without a name it says nothing.
		if (!list.clients.empty())
			text += fmt::format("\n[key {}]\n", list.key);
		for (const std::string &client : list.clients)
			text += fmt::format("client = {}\n", client);
	}
	for (const Export &e : read_exports(host)) {
		if (!can_be_mapped(e.name)) {
			text += fmt::format("\n# Left out, no client can map it: export '{}'\n",
					    printable(e.name));
			continue;
		}
		// Never without one of them: an export without a client is for all.
		if (has_comment(e.clients.value_or(""))) {
			text += fmt::format(
			    "\n# Left out, a client has a '#' in its name: export '{}', of {}\n",
			    printable(e.name), printable(*e.clients));
			continue;
		}
		text += "\n" +
			section_of(
			    {e.name, e.device_path, e.access,
			     e.local_use.value_or("exclusive") == "exclusive" ? "" : *e.local_use,
			     split(e.clients.value_or("")), split(e.keys.value_or("")),
			     split(e.addresses.value_or(""))});
	}
	return text;
}

} // namespace rnbdadm
