// SPDX-License-Identifier: GPL-2.0
// Mapping and unmapping one device.
#include "mapping.hh"

#include "exports.hh"
#include "links.hh"
#include "names.hh"
#include "text.hh"

#include <cerrno>

#include <fmt/format.h>
#include <rnbd/pure/map_options.hh>
#include <rtrs/pure/auth_policy.hh>
#include <rtrs/wire/key_name.hh>

namespace rnbdadm {

namespace {

// How long udev may take to read a disk, in seconds.
constexpr double kReaderPatience = 5;

// With the mapping, as the module's usage says.
bool takes(const Host &host, const std::string &option)
{
	return host.text(kMapDevice).find(option + "=") != std::string::npos;
}

// A setting is called there as its file is.
bool takes(const Host &host, const Setting &setting)
{
	return takes(host, setting.files.front());
}

bool takes_owner(const Host &host)
{
	return takes(host, "owner");
}

// In-tree would say EINVAL.
void check_access_is_known(const Host &host, const MapRequest &request)
{
	if (request.access == "shared" && host.exists(kMapDevice) &&
	    host.text(kMapDevice).find("|shared>") == std::string::npos)
		throw Failure(Exit::Missing,
			      "the loaded module rnbd_client does not know access shared",
			      "it is the kernel's own, or an older one");
}

std::string proof_options(const Host &host, const MapRequest &request)
{
	if (host.exists(kMapDevice) && !takes(host, "key")) {
		if (request.key.empty() && request.auth != "required")
			return "";
		throw Failure(Exit::Missing, "the loaded module knows no auth and no key",
			      "modules of the kernel prove nothing; without both options they "
			      "connect as they are");
	}
	std::string options;
	if (const std::string auth = wanted_auth(request.auth, request.key); !auth.empty())
		options += " auth=" + auth;
	if (!request.key.empty())
		options += " key=" + request.key;
	return options;
}

} // namespace

std::string wanted_auth(const std::string &auth, const std::string &key)
{
	return auth.empty() && !key.empty() ? to_text(rtrs::AuthPolicy::Required) : auth;
}

Failure needs_a_path(const std::string &session)
{
	return {Exit::Usage,
		fmt::format("there is no session '{}' yet: a new one needs --path", session)};
}

std::vector<std::string> access_modes()
{
	std::vector<std::string> modes;
	for (rnbd::AccessMode m : rnbd::kAccessModes)
		modes.push_back(rnbd::to_text(m));
	return modes;
}

std::string map_line(const Host &host, const MapRequest &request)
{
	check_access_is_known(host, request);
	// In-tree resolves each path while it reads it: the port must stand before the paths.
	std::string line = "sessname=" + request.session;
	if (request.port != rnbd::kDefaultPort)
		line += fmt::format(" dest_port={}", request.port);
	for (const std::string &path : request.paths)
		line += " path=" + path;
	line += " device_path=" + request.device_path;
	if (request.access != "rw")
		line += " access_mode=" + request.access;
	if (request.poll_queues)
		line += fmt::format(" nr_poll_queues={}", request.poll_queues);
	if (request.no_path_timeout && takes(host, "no_path_timeout"))
		line += fmt::format(" no_path_timeout={}", *request.no_path_timeout);
	line += proof_options(host, request);
	for (const auto &[name, value] : request.settings)
		if (const Setting &setting = *find_setting(name); takes(host, setting))
			line += fmt::format(" {}={}", setting.files.front(), value);
	if (!request.owner.empty() && takes_owner(host))
		line += " owner=" + request.owner;
	return line;
}

void check_request(const Host &host, const MapRequest &request)
{
	check_session_name(request.session);
	const std::string &device = request.device_path;
	if (device.empty() || device.size() > rnbd::kMaxDevicePath || !can_be_mapped(device))
		throw Failure(Exit::Usage,
			      fmt::format("'{}' cannot be the name of a device to map: it has 1 to "
					  "{} characters and no blank",
					  device, rnbd::kMaxDevicePath),
			      "the server can export it by another name: rnbdadm server export add "
			      "NAME DEVICE");
	if (!rnbd::parse_access_mode(view(request.access)).ok())
		throw Failure(Exit::Usage,
			      fmt::format("access '{}' is not one of {}{}", request.access,
					  join(access_modes(), ", "),
					  did_you_mean(request.access, access_modes())));
	if (!request.auth.empty() && !rtrs::parse_auth_policy(view(request.auth)).ok())
		throw Failure(
		    Exit::Usage,
		    fmt::format("auth '{}' is not off, optional or required{}", request.auth,
				did_you_mean(request.auth, {"off", "optional", "required"})));
	if (!request.key.empty() && !rtrs::check_key_name(view(request.key)).ok())
		throw Failure(Exit::Usage,
			      fmt::format("'{}' cannot be the name of a key", request.key),
			      "it has 1 to 63 letters, digits, '-', '_' and '.', and begins with a "
			      "letter or a digit");
	if (!request.key.empty() && request.auth == "off")
		throw Failure(Exit::Usage, "a key is of no use with auth off");
	if (request.paths.size() > rnbd::kMaxMapPaths)
		throw Failure(Exit::Usage,
			      fmt::format("a new session takes {} paths at most; add more with "
					  "rnbdadm path add",
					  rnbd::kMaxMapPaths));
	// What is left to refuse is what the kernel's own parser knows.
	rnbd::MapOptions parsed;
	std::string line = map_line(host, request);
	if (!rnbd::parse_map_options(view(line), 1 << 16, parsed).ok())
		throw Failure(Exit::Usage, fmt::format("the kernel would refuse '{}'", line));
}

namespace {

// What the module did not take: said, or done.

void say_what_follows(Call &call, const MapRequest &request)
{
	const std::string disk = "<the new disk>";
	auto say = [&](const std::string &text, const std::string &path) {
		call.out << printable(fmt::format("write '{}' to {}\n", text, path));
	};
	if (!request.owner.empty() && !takes_owner(call.host))
		say(fmt::format("{} {} {}", request.session, request.device_path, request.owner),
		    "/run/rnbd/devices/" + disk);
	if (request.no_path_timeout && !takes(call.host, "no_path_timeout"))
		say(std::to_string(*request.no_path_timeout),
		    "/sys/block/" + disk + "/rnbd/no_path_timeout");
	for (const auto &[name, value] : request.settings) {
		const Setting &setting = *find_setting(name);
		// What there is will be compared; what is new is in-tree's.
		if (!takes(call.host, setting) && !setting.fixed &&
		    running_value(call.host, request.session, setting) != value)
			say(value, fmt::format("{}/{}/{}", kRtrsClient, request.session,
					       setting.files.back()));
	}
}

void set_what_follows(Call &call, const MapRequest &request, const Device &device)
{
	std::vector<std::string> missing;
	// A mapping of others stays theirs when it is mapped again.
	if (!request.owner.empty() && !takes_owner(call.host))
		record_owner(call.host, device, request.owner);
	for (const auto &[name, value] : request.settings) {
		const Setting &setting = *find_setting(name);
		if (takes(call.host, setting))
			continue;
		auto running = running_value(call.host, request.session, setting);
		if (!running)
			missing.push_back(name);
		else if (*running != value)
			apply_setting(call, request.session, setting, value);
	}
	if (request.no_path_timeout && !takes(call.host, "no_path_timeout")) {
		if (!device.no_path_timeout)
			throw Failure(
			    Exit::Missing,
			    fmt::format("{} is mapped; the module knows no "
					"no_path_timeout, I/O without a path fails at once",
					device.node()));
		call.write(device.folder + "/no_path_timeout",
			   std::to_string(*request.no_path_timeout), Action::Configure,
			   fmt::format("{} is mapped, but its no_path_timeout cannot be set",
				       device.node()));
	}
	if (missing.empty())
		return;
	const std::string text =
	    fmt::format("the loaded module rtrs_client has no setting {}", join(missing, ", "));
	if (request.needs_settings)
		throw Failure(Exit::Missing, device.node() + " is mapped; " + text);
	call.say(fmt::format("session {}: {}", request.session, text));
}

// The server says that it refuses, and never why: what this side can see of it.
std::string reason_to_deny(const Host &host, const MapRequest &request)
{
	// A session that exists has what it was made with.
	const std::string folder = fmt::format("{}/{}", kRtrsClient, request.session);
	const std::string key =
	    host.exists(folder) ? trim(host.text(folder + "/key")) : request.key;
	return (key.empty()
		    ? fmt::format("session {} proves no key, which the export may ask for: --key "
				  "NAME, where the session is made",
				  request.session)
		    : fmt::format("session {} proves key {}; is that one of the export's?",
				  request.session, key)) +
	       fmt::format(
		   "\non the server: rnbdadm server export show {}; dmesg | grep rnbd_server",
		   request.device_path);
}

} // namespace

std::optional<Device> map_device(Call &call, const MapRequest &request)
{
	check_request(call.host, request);
	need_client(call.host);
	if (auto there = find_device(call.host, request.session, request.device_path))
		throw Failure(Exit::Exists,
			      fmt::format("{} is mapped in session {} already, as {}",
					  request.device_path, request.session, there->node()));
	if (auto there = device_with_link(call.host, request.session, request.device_path))
		throw Failure(Exit::Exists,
			      fmt::format("{} would have the same link as {}, {}",
					  request.device_path, there->node(),
					  link_of(request.session, request.device_path)),
			      "map it in another session, or export it by another name");
	if (int answer = call.try_write(kMapDevice, map_line(call.host, request))) {
		const Failure failure =
		    call.failure_of(answer, Action::Map,
				    fmt::format("cannot map {} in session {}", request.device_path,
						request.session),
				    request.paths);
		if (answer != EACCES)
			throw failure;
		throw Failure(failure.code(), failure.what(), reason_to_deny(call.host, request));
	}
	if (call.dry_run) {
		say_what_follows(call, request);
		return std::nullopt;
	}
	std::optional<Device> device;
	if (!call.wait_for([&] {
		    return (device = find_device(call.host, request.session, request.device_path))
			.has_value();
	    }))
		throw Failure(
		    Exit::TimedOut,
		    fmt::format("{} is mapped, but its disk did not appear", request.device_path));
	set_what_follows(call, request, *device);
	return find_device(call.host, request.session, request.device_path);
}

namespace {

Session session_of(const Host &host, const Device &device)
{
	for (const Session &session : read_sessions(host, false))
		if (session.name == device.session)
			return session;
	throw Failure(Exit::Failed, fmt::format("{} cannot be mapped again: its session {} is gone",
						device.node(), device.session));
}

} // namespace

WayBack::WayBack(const Host &host, const Device &device, std::optional<std::int64_t> port)
    : session_(session_of(host, device))
{
	request_.session = device.session;
	request_.device_path = device.device_path;
	request_.access = device.access;
	request_.poll_queues = device.poll_queues.value_or(0);
	if (device.no_path_timeout && *device.no_path_timeout)
		request_.no_path_timeout = device.no_path_timeout;
	request_.owner = device.owner;
	request_.auth = session_.auth.value_or("");
	request_.key = session_.key.value_or("");
	for (const Path &path : session_.paths)
		if (request_.paths.size() < rnbd::kMaxMapPaths)
			request_.paths.push_back(path.source + "@" + path.destination);
	if (session_.paths.empty())
		throw Failure(Exit::Failed,
			      fmt::format("{} cannot be mapped again: session {} has no path",
					  device.node(), device.session));
	for (const Setting &setting : session_settings())
		if (auto value = running_value(host, device.session, setting))
			request_.settings[setting.name] = *value;
	if (session_.server_port)
		port = static_cast<std::int64_t>(*session_.server_port);
	// A session that others keep alive keeps its port as well.
	if (!port && session_.devices <= 1)
		throw Failure(
		    Exit::Missing,
		    fmt::format("the loaded module does not tell the server's port of session {}, "
				"which ends with {}",
				device.session, device.node()),
		    "say it with --port, 1234 if the server has the usual one");
	request_.port = port.value_or(request_.port);
	check_request(host, request_);
}

void WayBack::go(Call &call) const
{
	const bool ended =
	    call.dry_run ? session_.devices <= 1 : !call.host.exists(session_.folder);
	MapRequest request = request_;
	// Those of a session that others keep alive are theirs to change meanwhile.
	if (!ended)
		request.settings.clear();
	if (call.dry_run) {
		call.out << fmt::format("write '{}' to {}\n", map_line(call.host, request),
					kMapDevice);
		say_what_follows(call, request);
	} else {
		map_device(call, request);
	}
	if (!ended)
		return;
	for (std::size_t i = request_.paths.size(); i < session_.paths.size(); i++) {
		const Path &path = session_.paths[i];
		call.write(session_.folder + "/add_path", path.source + "@" + path.destination,
			   Action::AddPath, fmt::format("cannot add path {} again", path.name),
			   {path.source + "@" + path.destination});
	}
}

std::string users_of(const Device &device)
{
	std::vector<std::string> users;
	for (const std::string &mount : device.mounts)
		users.push_back(mount == "swap" ? "used as swap" : "mounted on " + mount);
	for (const std::string &holder : device.holders)
		users.push_back("used by " + holder);
	return join(users, ", ");
}

Failure in_use(const Device &device, const std::string &advice)
{
	const std::string users = users_of(device);
	return {Exit::Busy,
		fmt::format("cannot unmap {}: {}", device.node(),
			    users.empty() ? words_of(EBUSY, Action::Unmap) : users),
		users.empty() ? "find out who with: fuser -v " + device.node() : advice};
}

void unmap_device(Call &call, const Device &device, bool force, const std::string &advice)
{
	const std::string users = users_of(device);
	int error = 0;
	// Without a user that can be named udev may be reading it, as it does after each writer.
	call.wait_for(
	    [&] {
		    error =
			call.try_write(device.folder + "/unmap_device", force ? "force" : "normal");
		    return error != EBUSY || !users.empty();
	    },
	    kReaderPatience);
	if (error == EBUSY)
		throw in_use(device, advice);
	if (error)
		throw call.failure_of(error, Action::Unmap, "cannot unmap " + device.node());
	if (call.dry_run)
		return;
	if (!call.wait_for([&] { return !call.host.exists(device.folder); }))
		throw Failure(Exit::TimedOut, fmt::format("{} is still there after {:.0f} s",
							  device.node(), call.timeout));
	forget_owner(call.host, device.name);
}

} // namespace rnbdadm
