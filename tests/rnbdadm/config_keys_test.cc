// SPDX-License-Identifier: GPL-2.0
// Every key of the configuration: what it takes from [defaults], and what holds without it.
#include "fake.hh"

#include "config.hh"
#include "generate.hh"
#include "settings.hh"
#include "text.hh"

#include <fmt/format.h>
#include <rtrs/pure/sysfs_text.hh>

// Whatever [defaults] takes stands for the same in each section that takes it, too.
TEST(RnbdadmConfigKeys, EveryDefaultIsInherited)
{
	const std::map<std::string, std::string> values = {
	    {"port", "4321"},
	    {"policy", "min-latency"},
	    {"reconnect-attempts", "7"},
	    {"request-timeout", "8"},
	    {"heartbeat-interval", "9000"},
	    {"heartbeat-missed-max", "9"},
	    {"reconnect-delay", "11"},
	    {"tos", "104"},
	    {"connections", "4"},
	    {"queue-depth", "32"},
	    {"access", "ro"},
	    {"poll-queues", "2"},
	    {"no-path-timeout", "77"},
	    {"auth", "required"},
	    {"key", "client7"},
	};
	struct Place {
		const char *section, *lines;
		bool rnbdadm::ConfigKey::*takes;
	};
	const Place places[] = {
	    {"[session s]", "path = 10.0.0.1\n", &rnbdadm::ConfigKey::session},
	    {"[device d]", "session = s\ndevice = /dev/x\n", &rnbdadm::ConfigKey::device},
	    {"[export e]", "device = /dev/y\n", &rnbdadm::ConfigKey::exported},
	};
	auto described = [](const std::string &text) {
		FakeHost host;
		host.put(rnbdadm::kConfigFile, text);
		rnbdadm::Config config = rnbdadm::read_config(host);
		EXPECT_TRUE(config.mistakes.empty()) << text << config.mistakes[0].text;
		std::vector<std::string> words;
		for (const auto &s : config.sessions) {
			words.push_back(fmt::format("{} {} {}", s.port, s.auth, s.key));
			for (const auto &[name, value] : s.settings)
				words.push_back(name + " " + value);
		}
		for (const auto &d : config.devices)
			words.push_back(fmt::format("{} {} {} {} {} {}", d.request.port,
						    d.request.access, d.request.poll_queues,
						    d.request.no_path_timeout.value_or(-2),
						    d.request.auth, d.request.key));
		for (const auto &e : config.exports)
			words.push_back(e.request.access);
		return rnbdadm::join(words, "\n");
	};
	// With `line` in [defaults], or in the sections for which `chosen` says so.
	auto text = [&](const std::string &defaults, const std::string &line, auto chosen) {
		std::string all = "[defaults]\n" + defaults;
		for (const Place &place : places)
			all += fmt::format("{}\n{}{}", place.section, place.lines,
					   chosen(place) ? line : "");
		return all;
	};
	auto none = [](const Place &) {
		return false;
	};
	for (const rnbdadm::ConfigKey &key : rnbdadm::config_keys()) {
		if (!key.defaults)
			continue;
		ASSERT_TRUE(values.contains(key.name)) << key.name;
		std::string line = fmt::format("{} = {}\n", key.name, values.at(key.name));
		std::string inherited = described(text(line, "", none));
		EXPECT_EQ(inherited,
			  described(text("", line,
					 [&](const Place &place) { return key.*(place.takes); })))
		    << key.name;
		EXPECT_NE(inherited, described(text("", "", none))) << key.name;
	}
}

// rnbd.conf(5) has an item for each key, which ends with what holds where it stands nowhere.
TEST(RnbdadmConfigKeys, ThePageSaysEachDefault)
{
	const std::string page = rnbdadm::replace_all(rnbdadm::man_config(), "\\-", "-");
	std::map<std::string, std::vector<std::string>> said;
	std::size_t keys = page.find(".SH KEYS"), end = page.find(".SH", keys + 1);
	ASSERT_NE(end, std::string::npos);
	for (std::size_t at = page.find(".TP\n", keys); at < end;) {
		std::size_t next = std::min(page.find(".TP\n", at + 1), end);
		std::vector<std::string> lines = rnbdadm::split(page.substr(at, next - at), "\n");
		ASSERT_EQ(lines.size(), 5u) << lines[1];
		std::string name = lines[1].substr(3, lines[1].find("\\fR") - 3);
		said[name].push_back(lines[4]);
		EXPECT_TRUE(lines[4] == "It is needed." ||
			    (lines[4].starts_with("Default: ") && lines[4].size() > 10))
		    << name << ": " << lines[4];
		at = next;
	}
	for (const rnbdadm::ConfigKey &key : rnbdadm::config_keys())
		EXPECT_TRUE(said.contains(key.name)) << key.name;
	for (const rnbdadm::Setting &setting : rnbdadm::session_settings())
		EXPECT_TRUE(said.contains(setting.name)) << setting.name;

	// What the parser and the modules take where nothing is said.
	FakeHost host;
	host.put(rnbdadm::kConfigFile, "[session s]\npath = 10.0.0.1\n"
				       "[device d]\nsession = s\ndevice = /dev/x\n");
	const rnbdadm::MapRequest request = rnbdadm::read_config(host).devices.at(0).request;
	auto first = [&](const char *name) {
		return said[name].empty() ? "" : said[name][0];
	};
	EXPECT_EQ(first("port"), fmt::format("Default: {}.", request.port));
	EXPECT_EQ(first("access"), "Default: " + request.access + ".");
	EXPECT_EQ(first("poll-queues"), fmt::format("Default: {}.", request.poll_queues));
	EXPECT_EQ(first("policy"), "Default: min-inflight.");
	EXPECT_EQ(first("request-timeout"),
		  fmt::format("Default: {}.", rtrs::kDefaultRequestTimeout));
	EXPECT_EQ(first("device"), "It is needed.");
	// A mistake without them, and none with them.
	for (const char *text :
	     {"[session s]", "[device d]\nsession = s", "[export e]", "[key k]"}) {
		FakeHost other;
		other.put(rnbdadm::kConfigFile, text);
		EXPECT_FALSE(rnbdadm::read_config(other).mistakes.empty()) << text;
	}
}
