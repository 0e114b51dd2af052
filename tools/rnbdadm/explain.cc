// SPDX-License-Identifier: GPL-2.0
// Why does a device not work.
#include "diagnosis.hh"
#include "failure.hh"
#include "text.hh"
#include "way.hh"

#include <algorithm>

#include <fmt/format.h>
#include <rtrs/pure/path_reason.hh>

namespace rnbdadm {

Json to_json(const Finding &finding)
{
	Json j;
	j["check"] = finding.check;
	j["verdict"] = finding.verdict;
	j["text"] = finding.text;
	j["advice"] = finding.advice.empty() ? Json() : Json(finding.advice);
	return j;
}

bool has_problem(const std::vector<Finding> &findings)
{
	return std::any_of(findings.begin(), findings.end(),
			   [](const Finding &f) { return f.verdict == "problem"; });
}

namespace {

Finding judge_device(const Device &device, const Session *session)
{
	std::string name = "device " + device.name;
	std::string what =
	    fmt::format("{} of session {}, {}, {}", device.device_path, device.session,
			human_bytes(static_cast<double>(device.size)), device.access);
	// The client does not learn that the server has closed a device: only I/O does.
	if (device.state == "open" && device.errors && *device.errors && session &&
	    session->connected() > 0)
		return {
		    name, "note",
		    what +
			": open, but I/O has failed: if it still does, the server may have closed "
			"the device",
		    fmt::format("on the server: rnbdadm server list; then rnbdadm remap --force {}",
				device.name)};
	if (device.state == "open")
		return {name, "ok", what + ": open", ""};
	if (device.state != "closed")
		return {name, "note", fmt::format("{}: {}, this should pass", what, device.state),
			""};
	if (session && session->connected() > 0)
		return {
		    name, "problem",
		    what + ": closed, although its session is connected: the server has closed the "
			   "device, or could not open it again",
		    "rnbdadm remap " + device.name};
	return {name, "problem", what + ": closed, since no path of its session is connected", ""};
}

Finding judge_session(const Session &session)
{
	std::string name = "session " + session.name;
	std::string paths =
	    fmt::format("{} of {} paths connected", session.connected(), session.paths.size());
	if (session.paths.empty())
		return {name, "problem", "has no path",
			fmt::format("rnbdadm path add {} <address of the server>", session.name)};
	std::string state = session.state();
	if (session.downgrades.value_or(0))
		paths += fmt::format("; {} times one went on without the proof that was asked for",
				     *session.downgrades);
	if (state == "connected")
		return {name, "ok", paths, ""};
	return {name, state == "degraded" ? "note" : "problem", paths,
		"rnbdadm recover " + session.name};
}

std::string at_server(const Path &path)
{
	return fmt::format("ping {}; on the server: rnbdadm doctor",
			   path.destination.substr(path.destination.find(':') + 1));
}

// What a path that is not connected does about it. `attempts` counts those in a row; modules of the
// kernel count all that have failed so far.
std::string attempts(const Session &session, const Path &path)
{
	std::string text;
	if (path.next_attempt_ms && *path.next_attempt_ms >= 0)
		text = fmt::format(", the next in {}",
				   human_time(static_cast<double>(*path.next_attempt_ms) * 1e6));
	bool in_row = path.attempts.has_value();
	if (!in_row && !path.reconnects_failed)
		return text;
	std::int64_t failed =
	    in_row ? static_cast<std::int64_t>(*path.attempts) : *path.reconnects_failed;
	if (!failed)
		return "; no attempt to reconnect has failed so far: it was disconnected by hand, "
		       "or lost "
		       "a moment ago" +
		       text;
	if (!session.reconnect_attempts || *session.reconnect_attempts < 0)
		return fmt::format("; {} attempts to reconnect failed so far, it goes on trying{}",
				   failed, text);
	if (failed >= *session.reconnect_attempts && text.empty())
		return fmt::format("; {} attempts failed, {} are allowed in a row: it {} given up",
				   failed, *session.reconnect_attempts,
				   in_row ? "has" : "may have");
	return fmt::format("; {} attempts failed so far, {} are allowed in a row{}", failed,
			   *session.reconnect_attempts, text);
}

// The port that the path left from last.
const HcaPort *port_of(const std::vector<HcaPort> &ports, const Path &path)
{
	for (const HcaPort &port : ports)
		if (port.hca == path.hca && port.port == path.port)
			return &port;
	return nullptr;
}

// Once for each port that paths of the session leave from.
void judge_counters(const Host &host, const Session &session, std::vector<Finding> &findings)
{
	std::vector<std::string> seen;
	for (const Path &path : session.paths) {
		const std::string name = fmt::format("port {}:{}", path.hca, path.port);
		if (std::count(seen.begin(), seen.end(), name))
			continue;
		seen.push_back(name);
		if (const std::string troubles = troubles_of(host, path); !troubles.empty())
			findings.push_back({name, "note", "has counted so far " + troubles,
					    "if they grow: cable, congestion, lost packets"});
	}
}

// What is there to look at on the way; `otherwise` if nothing is wrong there.
std::string advice_for(const std::optional<Way> &way, const std::string &otherwise)
{
	return way && !way->ok ? way->advice : otherwise;
}

// A path counts as connected until enough heartbeats are missed: seconds in which I/O stands still.
void judge_connected(const Session &session, const Path &path, const HcaPort *port,
		     const std::string &queue_pairs, const std::optional<Way> &way,
		     std::vector<Finding> &findings)
{
	std::string name = "path " + path.name;
	std::string text = "connected";
	if (path.latency && *path.latency)
		text += fmt::format(", heartbeat answered in {}",
				    human_time(static_cast<double>(*path.latency)));
	if (path.counts.in_flight)
		text += fmt::format(", {} requests in flight", *path.counts.in_flight);
	if (!queue_pairs.empty())
		text += ", " + queue_pairs;
	std::uint64_t missed = path.heartbeats_missed.value_or(0);
	if (missed > 1) {
		text += fmt::format("; no word from the server for {} heartbeats", missed);
		if (session.heartbeat_interval)
			text += fmt::format(
			    " of {}",
			    human_time(static_cast<double>(*session.heartbeat_interval) * 1e6));
		if (session.heartbeat_missed_max)
			text +=
			    fmt::format(", the path ends after {}", *session.heartbeat_missed_max);
	}
	bool down = port && port->state != "active";
	if (down)
		text += fmt::format("; its port {}:{} is {}: what is on its way waits", path.hca,
				    path.port, port->state);
	bool problem = missed > 1 || down;
	if (problem && !down && way)
		text += "; " + way->text;
	std::string advice;
	if (down)
		advice = port->netdev.empty() ? "look at cable and switch"
					      : "ip link show " + port->netdev;
	else if (problem)
		advice = advice_for(way, at_server(path));
	findings.push_back({name, problem ? "problem" : "ok", text, advice});
	// Whoever answers at that address gets what is written.
	if (!session.key.value_or("").empty() && path.proven == "none")
		findings.push_back(
		    {name, "note",
		     fmt::format("its server has proven nothing: it did not take up the proof by "
				 "key {}, and auth is optional",
				 *session.key),
		     "once the server has the key: auth = required, or none, and map anew"});
}

void judge_path(const Host &host, const Session &session, const Path &path,
		const std::vector<HcaPort> &ports, const std::vector<RdmaConnection> &connections,
		std::vector<Finding> &findings)
{
	std::string name = "path " + path.name;
	const HcaPort *port = port_of(ports, path);
	const std::optional<Way> way = look_at_way(host, ports, path.source, path.destination);
	if (path.connected())
		return judge_connected(session, path, port, queue_pairs(connections, path), way,
				       findings);
	Finding lost{name, "problem", "disconnected" + attempts(session, path),
		     fmt::format("rnbdadm path reconnect {}", path.name)};
	std::string kinds;
	for (const auto &[kind, count] : path.errors)
		if (count)
			kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kind, count);
	if (!kinds.empty())
		lost.text += "; errors so far: " + kinds;
	if (path.last_error && *path.last_error < 0)
		lost.text += fmt::format(
		    "; the last: {}{}", path.last_reason ? *path.last_reason + ": " : "",
		    words_of(static_cast<int>(-*path.last_error), Action::ConnectPath));
	findings.push_back(lost);
	if (path.last_reason == rtrs::to_text(rtrs::PathReason::Starved))
		findings.push_back(
		    {name, "problem",
		     "small packets get through and large ones do not: a switch or a port on the "
		     "way has a smaller MTU than both ends; while there is another path this one "
		     "is not used",
		     fmt::format("ping -M do -s 1472 {}, with the MTU less 28 for 1472",
				 path.destination.substr(path.destination.find(':') + 1))});
	else if (!port)
		findings.push_back(
		    {name, "problem",
		     fmt::format("its RDMA device {} port {} is gone", path.hca, path.port),
		     "rnbdadm hca list"});
	else if (port->state != "active")
		findings.push_back(
		    {name, "problem",
		     fmt::format("its port {}:{} is {}: cable, switch, or interface {} "
				 "that is down",
				 path.hca, path.port, port->state, port->netdev),
		     port->netdev.empty() ? "" : "ip link show " + port->netdev});
	else if (path.source.starts_with("ip:") && !port->addresses.empty() &&
		 !std::count(port->addresses.begin(), port->addresses.end(), path.source))
		findings.push_back(
		    {name, "problem",
		     fmt::format("this machine has no address {} any more", path.source.substr(3)),
		     "ip addr"});
	else if (way && !way->ok)
		findings.push_back({name, "problem", way->text, way->advice});
	else if (is_deaf(host.rdma_queue_pairs(), path.hca))
		findings.push_back({name, "problem",
				    fmt::format("the queue pair for connects of {} is in state "
						"err: nobody can connect through it any more",
						path.hca),
				    cure_of_deaf(*port)});
	else
		findings.push_back(
		    {name, "note",
		     fmt::format("port {}:{} is active here{}: if nobody has disconnected the "
				 "path, the cause is farther on the way or at the server",
				 path.hca, path.port, way ? ", " + way->text : ""),
		     at_server(path)});
}

void judge_all_of(const Host &host, const Session &session, std::vector<Finding> &findings)
{
	findings.push_back(judge_session(session));
	const std::vector<HcaPort> ports = read_hcas(host);
	const std::vector<RdmaConnection> connections = host.rdma_connections();
	for (const Path &path : session.paths)
		judge_path(host, session, path, ports, connections, findings);
	judge_counters(host, session, findings);
}

} // namespace

std::vector<Finding> explain_session(const Host &host, const Session &session)
{
	std::vector<Finding> findings;
	for (const Device &device : read_devices(host))
		if (device.session == session.name)
			findings.push_back(judge_device(device, &session));
	judge_all_of(host, session, findings);
	return findings;
}

std::vector<Finding> explain_device(const Host &host, const Device &device)
{
	std::vector<Finding> findings;
	std::vector<Session> sessions = read_sessions(host, false);
	const Session *session = nullptr;
	for (const Session &s : sessions)
		if (s.name == device.session)
			session = &s;
	findings.push_back(judge_device(device, session));
	if (!session) {
		findings.push_back({"session " + device.session, "problem",
				    "the transport has no such session",
				    "dmesg | grep -E 'rtrs|rnbd'"});
	} else {
		judge_all_of(host, *session, findings);
	}
	std::string waiting = fmt::format("{} in flight", device.in_flight);
	if (device.waiting)
		waiting += fmt::format(", {} wait for a path", *device.waiting);
	if (device.errors)
		waiting += fmt::format(", {} ended with an error so far", *device.errors);
	bool old = false, slow = false;
	if (device.oldest_request_ms && *device.oldest_request_ms) {
		double ms = static_cast<double>(*device.oldest_request_ms);
		waiting += fmt::format(", the oldest for {}", human_time(ms * 1e6));
		old = ms > 10000;
		slow = ms > 1000;
		if (old && device.state == "open" && device.waiting.value_or(0) == 0 && session &&
		    session->connected() > 0)
			waiting +=
			    ": the server's disk has not answered since, the paths are alive; "
			    "I/O goes on when the disk does";
	}
	std::string limits;
	if (session && session->request_timeout)
		limits = *session->request_timeout
			     ? fmt::format("; after {} s without an answer a path has to show life",
					   *session->request_timeout)
			     : "; no path has to show life while a request waits";
	if (device.no_path_timeout)
		limits += *device.no_path_timeout < 0 ? ", and waits for ever for a path"
			  : *device.no_path_timeout == 0
			      ? ", and fails at once without a path"
			      : fmt::format(", and waits {} s for a path", *device.no_path_timeout);
	findings.push_back({"requests",
			    old	   ? "problem"
			    : slow ? "note"
				   : "ok",
			    waiting + limits,
			    slow ? "rnbdadm stats " + device.name + " --watch" : ""});
	std::string users;
	for (const std::string &mount : device.mounts)
		users += (users.empty() ? "" : ", ") +
			 (mount == "swap" ? "swap" : "mounted on " + mount);
	for (const std::string &holder : device.holders)
		users += (users.empty() ? "" : ", ") + ("used by " + holder);
	findings.push_back({"use", "ok", users.empty() ? "nobody that is known here" : users, ""});
	return findings;
}

} // namespace rnbdadm
