// SPDX-License-Identifier: GPL-2.0
// Events of the kernel about what concerns RNBD: what each of them means.
#include "events.hh"

#include "text.hh"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// What the objects of a subsystem are.
const std::pair<const char *, const char *> kNouns[] = {
    {"block", "disk"},	       {"rtrs-client", "session"}, {"rtrs-server", "client-session"},
    {"rnbd-client", "client"}, {"rnbd-server", "server"},  {"infiniband", "hca"},
};

// Local time with its distance from UTC: whoever reads it elsewhere or later can tell when it was.
std::string time_text(double seconds)
{
	const long long ms = std::llround(seconds * 1000);
	const auto whole = static_cast<std::time_t>(ms / 1000);
	struct tm t = {};
	localtime_r(&whole, &t);
	char date[32], zone[8];
	std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &t);
	std::strftime(zone, sizeof(zone), "%z", &t);
	return fmt::format("{}.{:03}{:.3}:{}", date, ms % 1000, zone, zone + 3);
}

} // namespace

std::optional<Event> read_event(const KernelEvent &kernel)
{
	auto get = [&](const char *key) {
		auto found = kernel.properties.find(key);
		return found == kernel.properties.end() ? std::string() : found->second;
	};
	Event event;
	event.time = time_text(kernel.time);
	event.action = get("ACTION");
	event.subsystem = get("SUBSYSTEM");
	const std::string path = get("DEVPATH");
	event.object = path.substr(path.rfind('/') + 1);
	const auto *noun = std::find_if(std::begin(kNouns), std::end(kNouns),
					[&](const auto &n) { return event.subsystem == n.first; });
	if (noun == std::end(kNouns) ||
	    (event.subsystem == "block" && !event.object.starts_with("rnbd")))
		return std::nullopt;
	event.name = get("RTRS_EVENT");
	if (event.name.empty()) {
		std::string what = get("RNBD_EVENT");
		if (what.empty())
			what = get("RESIZE") == "1" ? "resize" : event.action;
		const bool partition = get("DEVTYPE") == "partition";
		event.name = fmt::format("{}-{}", partition ? "partition" : noun->second, what);
	}
	event.session = get("RTRS_SESSION").empty() ? get("RNBD_SESSION") : get("RTRS_SESSION");
	event.path = get("RTRS_PATH");
	event.reason = get("RTRS_REASON");
	static const std::vector<std::string> kKnown = {"ACTION", "SUBSYSTEM", "DEVPATH", "SEQNUM"};
	for (const auto &[key, value] : kernel.properties)
		if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end())
			event.rest +=
			    fmt::format("{}{}={}", event.rest.empty() ? "" : " ", key, value);
	return event;
}

Json to_json(const Event &event)
{
	auto or_null = [](const std::string &text) {
		return text.empty() ? Json() : Json(text);
	};
	Json row;
	row["time"] = event.time;
	row["event"] = event.name;
	row["action"] = event.action;
	row["subsystem"] = event.subsystem;
	row["object"] = event.object;
	row["session"] = or_null(event.session);
	row["path"] = or_null(event.path);
	row["reason"] = or_null(event.reason);
	row["properties"] = event.rest;
	return row;
}

void watch_events(const Host &host, double seconds, const std::function<bool(const Event &)> &take)
{
	std::vector<std::string> subsystems;
	for (const auto &[subsystem, noun] : kNouns)
		subsystems.emplace_back(subsystem);
	host.watch_events(subsystems, seconds, [&](const KernelEvent &kernel) {
		std::optional<Event> event = read_event(kernel);
		return !event || take(*event);
	});
}

} // namespace rnbdadm
