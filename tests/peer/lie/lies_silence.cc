// SPDX-License-Identifier: GPL-2.0
// A server that stops to answer, or goes away, at each step (protocol A.8, B.1.5, B.3, G.3-10).
#include "../client.hh"
#include "path.hh"

namespace peer {

using namespace rtrs;

namespace {

using Responses = std::vector<Response>;

Lie no_greeting(uint16_t liar)
{
	Lie l{.name = "silent-connect-" + std::to_string(liar),
	      .row = "A.1 connect timeout",
	      .outcome = "late:ETIMEDOUT"};
	l.greet = [liar](uint16_t cid, unsigned, ConnectReply r) {
		return Greeting{cid == liar ? Greeting::Kind::Ignore : Greeting::Kind::Accept,
				bytes_of(r)};
	};
	return l;
}

Lie silent(Kind kind, std::string name, std::string row, std::string outcome)
{
	Lie l{.name = "silent-" + name, .row = std::move(row), .outcome = std::move(outcome)};
	l.about = kind;
	l.respond = [](Path &, const Request &, const Response &) {
		return Responses{};
	};
	return l;
}

Lie gone(Kind kind, std::string name, std::string outcome)
{
	Lie l{.name = "gone-" + name, .row = "B.1.5", .outcome = std::move(outcome)};
	l.about = kind;
	l.respond = [](Path &path, const Request &, const Response &) {
		path.disconnect();
		return Responses{};
	};
	return l;
}

Lie gone_between_connections()
{
	Lie l{.name = "gone-between-connections",
	      .row = "B.1.5",
	      .outcome = "map:ECONNRESET|ECONNABORTED"};
	l.greet = [](uint16_t cid, unsigned, ConnectReply r) {
		return Greeting{cid ? Greeting::Kind::Disconnect : Greeting::Kind::Accept,
				bytes_of(r)};
	};
	return l;
}

Lie gone_at_info(std::string name, std::string outcome, bool answers)
{
	Lie l{.name = "gone-" + name, .row = "B.1.5", .outcome = std::move(outcome)};
	l.info = [answers](Path &, Bytes m) {
		return answers ? std::vector<Bytes>{m} : std::vector<Bytes>{};
	};
	l.established = [](Path &path) {
		path.disconnect();
	};
	return l;
}

} // namespace

std::vector<Lie> silence_lies()
{
	const std::string kBroken = "map:ECONNRESET|ECONNABORTED";
	std::vector<Lie> all{
	    gone_between_connections(),
	    gone_at_info("at-info", kBroken, false),
	    gone_at_info("behind-info", kBroken, true),
	    gone(Kind::SessionInfo, "at-sess-info", kBroken),
	    gone(Kind::Open, "at-open", kBroken),
	    gone(Kind::Write, "at-write", "io"),
	    gone(Kind::Read, "at-read", "io"),
	    gone(Kind::Close, "at-close", "ok"),
	    no_greeting(0),
	    no_greeting(1),
	    silent(Kind::SessionInfo, "sess-info", "G.3-10", "late:ETIMEDOUT|ECONNABORTED"),
	    silent(Kind::Open, "open", "G.3-10", "late:ETIMEDOUT|ECONNABORTED"),
	    silent(Kind::Close, "close", "E.1 CLOSE", "ok late-unmap"),
	    silent(Kind::Write, "write", "E.3, G.3-10", "stuck"),
	    silent(Kind::Read, "read", "E.3, G.3-10", "stuck"),
	};
	all.push_back(silent(Kind::Write, "write-unmap", "E.1 unmap, G.3-10", "stuck unmap"));
	Lie info{.name = "silent-info", .row = "A.1 connect timeout", .outcome = "late:ETIMEDOUT"};
	info.info = [](Path &, const Bytes &) {
		return std::vector<Bytes>{};
	};
	all.push_back(info);
	// Nothing at all any more: heartbeats end the path.
	Lie dead = silent(Kind::Write, "dead", "B.3", "io late-io");
	dead.answers_heartbeats = false;
	all.push_back(dead);
	return all;
}

} // namespace peer
