// SPDX-License-Identifier: GPL-2.0
// map_device and unmap_device (protocol F.3).
#include <rnbd/pure/map_options.hh>

#include <algorithm>
#include <memory>

using namespace rnbd;

namespace {
constexpr int kCpus = 8;

struct Parsed {
	int code;
	MapOptions o;
};

// `input` must outlive the result.
std::unique_ptr<Parsed> parse(const std::string &input, int cpus = kCpus)
{
	auto p = std::make_unique<Parsed>();
	p->code = parse_map_options(text(input), cpus, p->o).code();
	return p;
}

int map_code(const std::string &input)
{
	return parse(input)->code;
}

int with_option(const std::string &option)
{
	return map_code("sessname=s device_path=d " + option);
}
} // namespace

TEST(MapOptions, Defaults)
{
	const std::string input = "sessname=blk device_path=ram0\n";
	auto p = parse(input);
	ASSERT_EQ(p->code, 0);
	EXPECT_EQ(str(p->o.session), "blk");
	EXPECT_EQ(str(p->o.device_path), "ram0");
	EXPECT_EQ(p->o.path_count, 0u);
	EXPECT_EQ(p->o.port, 1234);
	EXPECT_EQ(p->o.access_mode, AccessMode::ReadWrite);
	EXPECT_EQ(p->o.poll_queues, 0u);
	EXPECT_TRUE(p->o.auth.empty());
	EXPECT_TRUE(p->o.key.empty());
	for (const TextView &setting : p->o.settings)
		EXPECT_TRUE(setting.empty());
	EXPECT_TRUE(p->o.owner.empty());
}

TEST(MapOptions, SettingsOfTheSession)
{
	const std::string input =
	    "mp_policy=rr sessname=s heartbeat_missed_max=3 device_path=d request_timeout=7 "
	    "max_reconnect_attempts=-1 heartbeat_interval_ms=250 mp_policy=min-latency "
	    "nr_connections=2 queue_depth=16 tos=104 reconnect_delay=5";
	auto p = parse(input);
	ASSERT_EQ(p->code, 0);
	const std::vector<std::string> wanted = {"min-latency", "-1", "7",   "250", "3",
						 "2",		"5",  "104", "16"};
	for (usize i = 0; i < kSettings; i++)
		EXPECT_EQ(str(p->o.settings[i]), wanted[i]);
	// What they mean is for the transport to say, but for their length.
	for (const TextView &name : kSettingOptions) {
		EXPECT_EQ(with_option(str(name) + "=" + std::string(15, 'x')), 0);
		EXPECT_EQ(with_option(str(name) + "=" + std::string(16, 'x')), -22);
		EXPECT_EQ(with_option(str(name) + "="), -22);
		EXPECT_EQ(with_option(str(name)), -22);
	}
	// The file's other name is none here: two options for one thing could contradict.
	EXPECT_EQ(with_option("mpath_policy=rr"), -22);
}

TEST(MapOptions, Owner)
{
	const std::string input = "sessname=s device_path=d owner=- owner=vm:1.a_b-c";
	auto p = parse(input);
	ASSERT_EQ(p->code, 0);
	EXPECT_EQ(str(p->o.owner), "vm:1.a_b-c");
	EXPECT_EQ(with_option("owner=" + std::string(200, 'o')), 0);
	EXPECT_EQ(with_option("owner=" + std::string(201, 'o')), -22);
	EXPECT_EQ(with_option("owner="), -22);
}

TEST(MapOptions, Authentication)
{
	const std::string input =
	    "sessname=s device_path=d auth=off key=client7.a-b_c auth=required";
	auto p = parse(input);
	ASSERT_EQ(p->code, 0);
	EXPECT_EQ(str(p->o.auth), "required");
	EXPECT_EQ(str(p->o.key), "client7.a-b_c");
	EXPECT_EQ(with_option("auth=off"), 0);
	EXPECT_EQ(with_option("key=" + std::string(63, 'k')), 0);
	EXPECT_EQ(with_option("auth="), -22);
	EXPECT_EQ(with_option("auth=" + std::string(16, 'a')), -22);
	EXPECT_EQ(with_option("key="), -22);
	EXPECT_EQ(with_option("key=" + std::string(64, 'k')), -22);
}

TEST(MapOptions, EveryOrder)
{
	std::vector<std::string> options = {"sessname=s1",	"device_path=/dev/x",
					    "path=ip:10.0.0.1", "dest_port=99",
					    "access_mode=ro",	"nr_poll_queues=3"};
	std::sort(options.begin(), options.end());
	int orders = 0;
	do {
		std::string input;
		for (const std::string &o : options)
			input += o + " ";
		auto p = parse(input);
		ASSERT_EQ(p->code, 0) << input;
		ASSERT_EQ(str(p->o.session), "s1");
		ASSERT_EQ(str(p->o.device_path), "/dev/x");
		ASSERT_EQ(p->o.path_count, 1u);
		ASSERT_EQ(str(p->o.paths[0]), "ip:10.0.0.1");
		ASSERT_EQ(p->o.port, 99);
		ASSERT_EQ(p->o.access_mode, AccessMode::ReadOnly);
		ASSERT_EQ(p->o.poll_queues, 3u);
		orders++;
	} while (std::next_permutation(options.begin(), options.end()));
	EXPECT_EQ(orders, 720);
}

TEST(MapOptions, LastDuplicateWinsAndPathsCollect)
{
	const std::string input =
	    "sessname=a path=ip:1.1.1.1 access_mode=ro dest_port=1 sessname=b "
	    "device_path=x device_path=y path=ip:2.2.2.2@ip:3.3.3.3 access_mode=migration "
	    "dest_port=2";
	auto p = parse(input);
	ASSERT_EQ(p->code, 0);
	EXPECT_EQ(str(p->o.session), "b");
	EXPECT_EQ(str(p->o.device_path), "y");
	EXPECT_EQ(p->o.access_mode, AccessMode::Migration);
	EXPECT_EQ(p->o.port, 2);
	ASSERT_EQ(p->o.path_count, 2u);
	EXPECT_EQ(str(p->o.paths[0]), "ip:1.1.1.1");
	EXPECT_EQ(str(p->o.paths[1]), "ip:2.2.2.2@ip:3.3.3.3");
}

TEST(MapOptions, Mandatory)
{
	EXPECT_EQ(map_code(""), -22);
	EXPECT_EQ(map_code("\n"), -22);
	EXPECT_EQ(map_code("   "), -22);
	EXPECT_EQ(map_code("sessname=s"), -22);
	EXPECT_EQ(map_code("device_path=d"), -22);
	EXPECT_EQ(map_code("path=ip:1.1.1.1"), -22);
}

TEST(MapOptions, UnknownAndEmpty)
{
	for (const char *bad : {"foo", "foo=1", "=1", "=", "sessname",
				"sessname=", "device_path=", "path=", "dest_port=", "access_mode=",
				"nr_poll_queues=", "Sessname=x", "sessname =x", "paths=x", "path"})
		EXPECT_EQ(with_option(bad), -22) << bad;
}

TEST(DiscoverOptions, WhomToAsk)
{
	auto code = [](const std::string &input) {
		MapOptions o;
		return parse_discover_options(text(input), o).code();
	};
	const std::string input =
	    "key=k7 sessname=s path=ip:10.0.0.1 dest_port=99  path=ip:10.0.1.1 auth=required\n";
	MapOptions o;
	ASSERT_TRUE(parse_discover_options(text(input), o).ok());
	EXPECT_EQ(str(o.session), "s");
	EXPECT_EQ(o.path_count, 2u);
	EXPECT_EQ(o.port, 99);
	EXPECT_EQ(str(o.auth), "required");
	EXPECT_EQ(str(o.key), "k7");
	EXPECT_EQ(code("sessname=s"), 0) << "an open one needs no more";
	EXPECT_EQ(code("path=ip:10.0.0.1"), -22);
	for (const char *other : {"device_path=d", "access_mode=ro", "nr_poll_queues=1",
				  "no_path_timeout=1", "mp_policy=rr", "owner=o", "x=y", "auth="})
		EXPECT_EQ(code(std::string("sessname=s ") + other), -22) << other;
	EXPECT_EQ(code("sessname=s path=1 path=2 path=3 path=4 path=5 path=6 path=7"), -12);
}

TEST(MapOptions, SpacesMayRepeat)
{
	EXPECT_EQ(map_code("  sessname=s   device_path=d  \n"), 0);
	// No other separator.
	EXPECT_EQ(map_code("sessname=s,device_path=d"), -22);
}

TEST(MapOptions, ValuesMayHoldEqualSigns)
{
	const std::string input = "sessname=a=b device_path=d";
	EXPECT_EQ(str(parse(input)->o.session), "a=b");
}

TEST(MapOptions, Lengths)
{
	for (const char *key : {"sessname=", "device_path="}) {
		EXPECT_EQ(with_option(key + std::string(254, 'x')), 0) << key;
		EXPECT_EQ(with_option(key + std::string(255, 'x')), -22) << key;
	}
}

TEST(MapOptions, Port)
{
	EXPECT_EQ(with_option("dest_port=0"), 0);
	EXPECT_EQ(with_option("dest_port=65535"), 0);
	for (const char *bad : {"65536", "-1", "0x10", "1a", "99999999999", "1 2"})
		EXPECT_EQ(with_option(std::string("dest_port=") + bad), -22) << bad;
	const std::string input = "sessname=s device_path=d dest_port=65535";
	EXPECT_EQ(parse(input)->o.port, 65535);
}

TEST(MapOptions, AccessMode)
{
	for (const char *good : {"ro", "rw", "migration", "shared"})
		EXPECT_EQ(with_option(std::string("access_mode=") + good), 0);
	for (const char *bad : {"r", "RO", "rwx", "migrate", "share", "sharedx", "0"})
		EXPECT_EQ(with_option(std::string("access_mode=") + bad), -22) << bad;
}

TEST(MapOptions, PollQueues)
{
	EXPECT_EQ(with_option("nr_poll_queues=0"), 0);
	EXPECT_EQ(with_option("nr_poll_queues=8"), 0);
	EXPECT_EQ(with_option("nr_poll_queues=9"), -22);
	EXPECT_EQ(with_option("nr_poll_queues=-1"), 0);
	EXPECT_EQ(with_option("nr_poll_queues=-2"), -22);
	EXPECT_EQ(with_option("nr_poll_queues=x"), -22);
	const std::string input = "sessname=s device_path=d nr_poll_queues=-1";
	EXPECT_EQ(parse(input)->o.poll_queues, 8u);
	EXPECT_EQ(parse(input, 3)->o.poll_queues, 3u);
}

TEST(MapOptions, NumberOfPaths)
{
	std::string paths;
	for (int i = 0; i < 6; i++)
		paths += " path=ip:1.1.1.1";
	const std::string fits = "sessname=s device_path=d" + paths;
	EXPECT_EQ(parse(fits)->o.path_count, 6u);
	EXPECT_EQ(parse(fits)->code, 0);
	EXPECT_EQ(map_code(fits + " path=ip:1.1.1.1"), -12);
}

TEST(UnmapMode, Input)
{
	EXPECT_EQ(parse_unmap_mode("normal").value(), UnmapMode::Normal);
	EXPECT_EQ(parse_unmap_mode("force\n").value(), UnmapMode::Force);
	for (const char *bad : {"", "\n", "1", "Normal", "forced", "normal ", "normal\n\n"})
		EXPECT_EQ(code(parse_unmap_mode(text(bad))), -22) << bad;
}
