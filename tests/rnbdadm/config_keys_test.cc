// SPDX-License-Identifier: GPL-2.0
// Every key of the configuration: what it takes from [defaults].
#include "fake.hh"

#include "config.hh"
#include "text.hh"

#include <fmt/format.h>

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
