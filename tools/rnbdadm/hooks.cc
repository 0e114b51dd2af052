// SPDX-License-Identifier: GPL-2.0
// Programs of the administrator's that are run for each event. They run as root: what others could
// have written is left alone.
#include "hooks.hh"

#include "text.hh"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// What editors and dpkg leave beside a file.
bool is_leftover(const std::string &name)
{
	return name.starts_with(".") || name.ends_with("~") ||
	       name.find(".dpkg-") != std::string::npos;
}

// "" if it may be run; else why not. What nobody can execute is no hook, and no mistake.
std::optional<std::string> objection(const Host &host, const std::string &path)
{
	constexpr unsigned kExecutable = 0111, kForOthersToWrite = 0022;
	const FileKind kind = host.kind_of(path);
	if (kind.error)
		return std::strerror(kind.error);
	if (!kind.plain || !(kind.mode & kExecutable))
		return std::nullopt;
	if (kind.owner != host.key_owner() || kind.mode & kForOthersToWrite)
		return fmt::format("others than root could have written it (mode {:04o}); it is "
				   "not run",
				   kind.mode);
	return "";
}

std::vector<std::string> programs(const Host &host, const std::string &place)
{
	std::vector<std::string> found;
	if (!host.kind_of(place).folder)
		return {place};
	for (const std::string &name : host.list(place))
		if (!is_leftover(name))
			found.push_back(place + "/" + name);
	return found;
}

std::vector<std::string> environment_of(const Event &event)
{
	std::vector<std::string> all = {
	    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};
	auto add = [&](const char *name, const std::string &value) {
		all.push_back(fmt::format("RNBD_{}={}", name, value));
	};
	add("EVENT", event.name);
	add("TIME", event.time);
	add("ACTION", event.action);
	add("SUBSYSTEM", event.subsystem);
	add("OBJECT", event.object);
	add("SESSION", event.session);
	add("PATH", event.path);
	add("REASON", event.reason);
	return all;
}

} // namespace

void run_hooks(const Host &host, const std::string &place, const Event &event, double seconds,
	       const std::function<void(const std::string &)> &complain)
{
	for (const std::string &path : programs(host, place)) {
		const std::optional<std::string> why_not = objection(host, path);
		if (!why_not)
			continue;
		if (!why_not->empty()) {
			complain(path + ": " + *why_not);
			continue;
		}
		const ProgramEnd end = host.run_program(
		    {host.place(path), event.name, event.object}, environment_of(event), seconds);
		if (end.error)
			complain(fmt::format("{}: {}", path, std::strerror(end.error)));
		else if (end.late)
			complain(fmt::format("{}: ended after {:.0f} s, for {} of {}", path,
					     seconds, event.name, event.object));
		else if (end.status)
			complain(fmt::format("{}: exit code {}, for {} of {}", path, end.status,
					     event.name, event.object));
	}
}

} // namespace rnbdadm
