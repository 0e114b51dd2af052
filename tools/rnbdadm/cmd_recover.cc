// SPDX-License-Identifier: GPL-2.0
// recover: what is lost of sessions, connected and opened again.
#include "config.hh"
#include "mapping.hh"
#include "names.hh"
#include "way.hh"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// The sessions that the command line means, each once.
std::vector<Recovery> sessions_to_recover(Call &call)
{
	if (call.has(opt::kAll) == !call.arguments.empty())
		throw Failure(Exit::Usage, "recover: name devices or sessions, or give --all");
	const std::vector<Session> sessions = read_sessions(call.host, false);
	if (call.has(opt::kAll))
		return {sessions.begin(), sessions.end()};
	const std::vector<Device> devices = read_devices(call.host);
	std::vector<Recovery> chosen;
	for (const std::string &word : call.arguments) {
		const auto object = session_or_device(call.host, sessions, devices, word);
		const Device *device = std::get_if<Device>(&object);
		const Session session = device ? one_session(call.host, sessions, device->session)
					       : std::get<Session>(object);
		if (std::none_of(chosen.begin(), chosen.end(),
				 [&](const Recovery &r) { return r.session.name == session.name; }))
			chosen.emplace_back(session);
	}
	return chosen;
}

void note(Recovery &recovery, const std::string &object, int answer, Action action, Call &call,
	  const std::string &path = "")
{
	if (!answer)
		return;
	recovery.reasons += fmt::format("{}{}", recovery.reasons.empty() ? "" : "\n",
					call.failure_of(answer, action, object).what());
	if (const std::string ways = path.empty() ? "" : wrong_ways(call.host, {path});
	    !ways.empty())
		recovery.reasons += "\n" + ways;
}

// A path, and what is asked of it.
struct Attempt {
	Recovery *of;
	std::string path;
	Action action;
	Host::Order order;
};

// Not "1": it would end a path that has come back by itself meanwhile.
const char *const kIfLost = "lost";

// Modules that do not know the word take 1.
void ask_without_words(Call &call, const std::vector<Host::Order> &orders,
		       std::vector<int> &answers)
{
	auto again = [&](std::size_t i) {
		return answers[i] == EINVAL && orders[i].text == kIfLost;
	};
	std::vector<Host::Order> others;
	for (std::size_t i = 0; i < orders.size(); i++)
		if (again(i))
			others.push_back({orders[i].path, "1"});
	if (others.empty())
		return;
	const std::vector<int> answered = call.try_write_all(others);
	for (std::size_t i = 0, n = 0; i < orders.size(); i++)
		if (again(i))
			answers[i] = answered[n++];
}

// Of the configuration, those that the session lacks.
void add_missing(const Host &host, const Config &config, Recovery &recovery,
		 std::vector<Attempt> &attempts)
{
	const Session &session = recovery.session;
	const SessionConfig *configured = config.session(session.name);
	if (!configured)
		return;
	for (const std::string &path : resolve_paths(host, *configured, &session).paths)
		if (!has_path(session, path))
			attempts.push_back({&recovery,
					    path,
					    Action::AddPath,
					    {session.folder + "/add_path", path}});
}

} // namespace

void connect_all(Call &call, std::vector<Recovery> &chosen)
{
	const Config config = read_config(call.host);
	std::vector<Attempt> attempts;
	for (Recovery &recovery : chosen) {
		for (const Path &path : recovery.session.paths)
			if (!path.connected())
				attempts.push_back({&recovery,
						    path.name,
						    Action::ConnectPath,
						    {path.folder + "/reconnect", kIfLost}});
		add_missing(call.host, config, recovery, attempts);
	}
	std::vector<Host::Order> orders;
	for (const Attempt &attempt : attempts)
		orders.push_back(attempt.order);
	std::vector<int> answers = call.try_write_all(orders);
	ask_without_words(call, orders, answers);
	for (std::size_t i = 0; i < attempts.size(); i++) {
		const Attempt &attempt = attempts[i];
		note(*attempt.of, "path " + attempt.path, answers[i], attempt.action, call,
		     attempt.path);
		attempt.of->connected += answers[i] == 0;
	}
}

void Recovery::check() const
{
	if (!connected)
		throw Failure(Exit::Failed,
			      fmt::format("session {} has no path that connects", session.name),
			      reasons);
	if (!reasons.empty())
		throw Failure(
		    Exit::Partial,
		    fmt::format("session {} works, but not all that belongs to it", session.name),
		    reasons);
}

namespace {

// Devices open again by themselves when a path is back, unless the server has closed them.
void open_all(Call &call, std::vector<Recovery> &chosen)
{
	std::vector<Host::Order> orders;
	std::vector<std::pair<Recovery *, std::string>> of;
	for (const Device &device : read_devices(call.host))
		for (Recovery &recovery : chosen)
			if (device.session == recovery.session.name && device.state == "closed" &&
			    recovery.connected) {
				orders.push_back({device.folder + "/remap_device", "1"});
				of.emplace_back(&recovery, device.name);
			}
	std::vector<int> answers = call.try_write_all(orders);
	for (std::size_t i = 0; i < of.size(); i++)
		// It came back by itself meanwhile.
		if (answers[i] != EALREADY)
			note(*of[i].first, "device " + of[i].second, answers[i], Action::Remap,
			     call);
}

// Paths first: a device can be opened again only through one.
Exit recover(Call &call)
{
	need_client(call.host);
	std::vector<Recovery> chosen = sessions_to_recover(call);
	connect_all(call, chosen);
	open_all(call, chosen);
	return call.each(chosen.size(), [&](std::size_t i) { chosen[i].check(); });
}

} // namespace

std::vector<Command> recover_commands()
{
	return {
	    {"recover",
	     "reconnect lost paths and reopen closed devices",
	     "Connects every path of the sessions that is not connected, and adds those of "
	     "rnbd.conf(5) that a session lacks, all at once, then opens each device that is "
	     "closed. What works already is left alone. --timeout is one limit "
	     "for all paths, and one for all devices.",
	     {{"OBJECT", "a device, or a session by its name, an address or its server's name",
	       "device|session", false, true}},
	     {{opt::kAll, "every session"}},
	     {{"rnbdadm recover --all", "after a server was away for long"},
	      {"rnbdadm recover store1", "what leads to that server"}},
	     nullptr,
	     recover},
	};
}

} // namespace rnbdadm
