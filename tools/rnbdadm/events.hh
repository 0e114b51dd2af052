// SPDX-License-Identifier: GPL-2.0
// Events of the kernel about what concerns RNBD.
#pragma once

#include "fields.hh"

namespace rnbdadm {

struct Event {
	std::string time; // with its zone
	std::string name; // path-lost, session-back, disk-offline ...
	std::string action, subsystem, object;
	std::string session, path, reason; // of those that have one
	std::string rest;		   // all that the kernel adds, as KEY=value
};

// Nothing if it concerns others.
std::optional<Event> read_event(const KernelEvent &kernel);
Json to_json(const Event &event);

// Calls `take` for each event until it returns false or `seconds` are over (0: never).
void watch_events(const Host &host, double seconds, const std::function<bool(const Event &)> &take);

} // namespace rnbdadm
