// SPDX-License-Identifier: GPL-2.0
// What an initramfs needs to map devices: a part of the configuration, and of the keys.
#include "config.hh"
#include "generate.hh"
#include "key_files.hh"
#include "settings.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// A folder that becomes another machine's root; its files belong to who owns this one's.
class Image final : public Host {
public:
	Image(const Host &of, const std::string &folder) : Host(of.place(folder)), of_(of) {}
	std::uint32_t key_owner() const override { return of_.key_owner(); }
	void keep_secrets() const override { of_.keep_secrets(); }

private:
	const Host &of_;
};

// Failure (Config) if one that is asked for has a mistake: who boots from it must hear of that now.
std::vector<const DeviceConfig *> devices_of(const Config &config)
{
	std::vector<const DeviceConfig *> devices;
	std::vector<std::string> mistakes;
	for (const std::string &name : config.initramfs) {
		if (const DeviceConfig *device = config.device(name))
			devices.push_back(device);
		for (const Mistake &m : config.mistakes)
			if (m.kind == "device" && m.name == name)
				mistakes.push_back(m.line());
	}
	if (!mistakes.empty())
		throw failure_of(mistakes, "what the initramfs shall map");
	return devices;
}

// Those that the devices are in, each once.
std::vector<const SessionConfig *> sessions_of(const Config &config,
					       const std::vector<const DeviceConfig *> &devices)
{
	std::vector<const SessionConfig *> sessions;
	for (const DeviceConfig *device : devices) {
		const SessionConfig *session = config.session(device->request.session);
		if (std::find(sessions.begin(), sessions.end(), session) == sessions.end())
			sessions.push_back(session);
	}
	return sessions;
}

// An initramfs has no resolver. Failure (Config).
std::vector<SessionConfig> with_addresses(const Host &host,
					  const std::vector<const SessionConfig *> &sessions)
{
	std::vector<SessionConfig> resolved;
	std::vector<std::string> unknown;
	for (const SessionConfig *session : sessions) {
		ResolvedPaths found = resolve_paths(host, *session, nullptr);
		for (const ResolvedPaths::Missing &m : found.missing)
			unknown.push_back(
			    fmt::format("{}: path {}: {}", session->place, m.word, m.reason));
		resolved.push_back(*session);
		resolved.back().paths = std::move(found.paths);
	}
	if (!unknown.empty())
		throw failure_of(unknown, "what the initramfs shall map");
	return resolved;
}

std::string text_of(const SessionConfig &session)
{
	std::string text = fmt::format("\n[session {}]\nport = {}\n", session.name, session.port);
	for (const std::string &path : session.paths)
		text += fmt::format("path = {}\n", path);
	if (!session.auth.empty())
		text += fmt::format("auth = {}\n", session.auth);
	if (!session.key.empty())
		text += fmt::format("key = {}\n", session.key);
	for (const auto &[name, value] : session.settings)
		text += fmt::format("{} = {}\n", name, value);
	for (const std::string &interface : session.soft_roce)
		text += fmt::format("soft-roce = {}\n", interface);
	return text;
}

std::string text_of(const DeviceConfig &device)
{
	const MapRequest &request = device.request;
	std::string text = fmt::format(
	    "\n[device {}]\nsession = {}\ndevice = {}\naccess = {}\npoll-queues = {}\n",
	    device.name, request.session, request.device_path, request.access, request.poll_queues);
	if (request.no_path_timeout)
		text += fmt::format("no-path-timeout = {}\n", *request.no_path_timeout);
	return text + "initramfs = yes\n";
}

// A client proves itself by its newest generation: older ones are of no use there.
std::string newest_key(const KeyFolder &folder, const SessionConfig &session)
{
	std::string newest;
	std::uint32_t last = 0;
	for (const std::string &name : folder.names()) {
		const auto id = parse_key_file_name(name);
		if (id && session.key == id->name.c_str() && id->generation.value > last) {
			last = id->generation.value;
			newest = name;
		}
	}
	if (newest.empty())
		throw Failure(Exit::Config,
			      fmt::format("session {} has key {}, which is not in {}", session.name,
					  session.key, kKeyFolder),
			      "bring it from the server, then: rnbdadm key add FILE");
	return newest;
}

} // namespace

Exit generate_initramfs(Call &call)
{
	const Config config = read_config(call.host);
	// Whose devices nobody knows.
	for (const Mistake &m : config.mistakes)
		if (m.kind.empty())
			call.report({Exit::Config, m.line()});
	const std::vector<const DeviceConfig *> devices = devices_of(config);
	const std::vector<SessionConfig> sessions =
	    with_addresses(call.host, sessions_of(config, devices));
	// All of them are good before the first is written.
	const KeyFolder keys(call.host);
	std::vector<std::string> names;
	for (const SessionConfig &session : sessions) {
		Secret secret;
		if (session.key.empty())
			continue;
		const std::string name = newest_key(keys, session);
		keys.read(name, secret);
		if (std::find(names.begin(), names.end(), name) == names.end())
			names.push_back(name);
	}
	if (!call.arguments.empty() && !devices.empty() && !call.dry_run) {
		Image image(call.host, call.arguments[0]);
		std::string text =
		    "# For an initramfs, by rnbdadm generate initramfs; see rnbd.conf(5).\n";
		for (const SessionConfig &session : sessions)
			text += text_of(session);
		for (const DeviceConfig *device : devices)
			text += text_of(*device);
		if (int error = image.replace_file(kConfigFile, text, Host::Folders::Make))
			throw Failure(exit_of(error),
				      fmt::format("cannot write {}: {}", image.place(kConfigFile),
						  words_of(error, Action::Configure)));
		for (const std::string &name : names) {
			Secret secret;
			const rtrs::KeyId id = keys.read(name, secret);
			KeyFolder(image, KeyFolder::Missing::Make).create(id, secret);
		}
	}
	for (const DeviceConfig *device : devices)
		call.out << device->name << '\n';
	return Exit::Done;
}

} // namespace rnbdadm
