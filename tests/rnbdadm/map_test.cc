// SPDX-License-Identifier: GPL-2.0
// What map writes: all that belongs to a disk at once, and addresses for names.
#include "fake.hh"

#include "model.hh"

#include <cerrno>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

// One write: whoever is killed after it leaves a disk with all of that.
TEST(RnbdadmMap, SettingsComeWithTheMapping)
{
	const std::string map_device = "/sys/class/rnbd-client/ctl/map_device";
	const std::string line = "map /dev/sda -s new -p 10.0.0.9 --no-path-timeout 30 --policy rr "
				 "--reconnect-attempts 7 --request-timeout 20 "
				 "--heartbeat-interval 250 --heartbeat-missed-max 3 "
				 "--connections 4 --reconnect-delay 5 --tos 104 --queue-depth 32";
	const std::string whole =
	    "sessname=new path=ip:10.0.0.9 device_path=/dev/sda no_path_timeout=30 "
	    "nr_connections=4 heartbeat_interval_ms=250 heartbeat_missed_max=3 "
	    "mp_policy=round-robin queue_depth=32 max_reconnect_attempts=7 reconnect_delay=5 "
	    "request_timeout=20 tos=104 owner=-";
	FakeHost host;
	host.client();
	EXPECT_EQ(run_line(host, line + " --dry-run").out,
		  "write '" + whole + "' to " + map_device + "\n");
	EXPECT_TRUE(host.writes.empty());
	Outcome o = run_line(host, line);
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(host.writes, std::vector<std::string>{map_device + " <- " + whole});
	EXPECT_EQ(rnbdadm::read_device(host, "rnbd2").owner, "-");
	for (const char *bad : {"--policy fast", "--request-timeout -1", "--heartbeat-interval 5",
				"--reconnect-delay 0", "--tos 256", "--queue-depth 7"})
		EXPECT_EQ(run_line(host, std::string("map /dev/sdb ") + bad).code, 2) << bad;
	// Of a session that exists nothing is changed.
	o = run_line(host, "map /dev/sdb -s new --policy ml --request-timeout 20");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "session new exists with policy round-robin")) << o.err;
	EXPECT_TRUE(has(o.err, "rnbdadm session set new policy=min-latency")) << o.err;
	EXPECT_EQ(host.writes.size(), 1u);
	o = run_line(host, "map /dev/sdb -s new --connections 5");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "connections of session new cannot change while it is open"))
	    << o.err;
	EXPECT_EQ(run_line(host, "map /dev/sdb -s new --connections 1025").code, 2);
	EXPECT_EQ(host.writes.size(), 1u);
	EXPECT_EQ(run_line(host, "map /dev/sdb -s new --policy rr --connections 4").code, 0);
}

// Modules of the kernel take less: all else follows, and what they lack is said.
TEST(RnbdadmMap, SettingsFollowWhereTheModuleDoesNotTakeThem)
{
	const std::string line =
	    "map /dev/sda -s new -p 10.0.0.9 --policy rr --reconnect-attempts 7";
	const std::string map_device = "/sys/class/rnbd-client/ctl/map_device";
	const std::string first = "sessname=new path=ip:10.0.0.9 device_path=/dev/sda";
	FakeHost host;
	host.client();
	host.put(map_device, "Usage");
	EXPECT_EQ(run_line(host, line + " --dry-run").out,
		  "write '" + first + "' to " + map_device +
		      "\nwrite 'new /dev/sda -' to /run/rnbd/devices/<the new disk>\n"
		      "write 'round-robin' to /sys/class/rtrs-client/new/mpath_policy\n"
		      "write '7' to /sys/class/rtrs-client/new/max_reconnect_attempts\n");
	EXPECT_EQ(run_line(host, line).code, 0);
	EXPECT_EQ(host.writes, (std::vector<std::string>{
				   map_device + " <- " + first,
				   "/sys/class/rtrs-client/new/mp_policy <- round-robin",
				   "/sys/class/rtrs-client/new/max_reconnect_attempts <- 7"}));
	host.lacks = "heartbeat_missed_max";
	Outcome o = run_line(host, "map /dev/sdb -s other -p 10.0.0.9 --heartbeat-missed-max 3");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "is mapped; the loaded module rtrs_client has no setting "
			       "heartbeat-missed-max"))
	    << o.err;
}

// The kernel takes addresses: of both families the one that goes with the source.
TEST(RnbdadmMap, NamesOfMachines)
{
	FakeHost host;
	host.client();
	host.machines = {{"store1.example.org", {"fd00::9", "10.0.0.9"}},
			 {"me", {"10.0.0.2"}},
			 {"six", {"fd00::2"}},
			 {"four", {"10.0.0.4"}}};
	Outcome o =
	    run_line(host, "map /dev/sda -s new -p store1.example.org -p me@store1.example.org "
			   "-p 10.0.1.2,store1.example.org --dry-run");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(o.out, "path=ip:fd00::9 path=ip:10.0.0.2@ip:10.0.0.9 "
			       "path=ip:10.0.1.2@ip:10.0.0.9 device_path"))
	    << o.out;
	EXPECT_EQ(o.err, "store1.example.org is ip:fd00::9\n"
			 "me@store1.example.org is ip:10.0.0.2@ip:10.0.0.9\n"
			 "10.0.1.2,store1.example.org is ip:10.0.1.2@ip:10.0.0.9\n");
	EXPECT_EQ(run_line(host, "path add store six@store1.example.org").err, "");
	EXPECT_TRUE(has(host.writes.back(), "add_path <- ip:fd00::2@ip:fd00::9"))
	    << host.writes.back();
	o = run_line(host, "map /dev/sda -s new -p store2");
	EXPECT_EQ(o.code, 3);
	EXPECT_TRUE(has(o.err, "the name 'store2' has no address: Name or service not known"))
	    << o.err;
	o = run_line(host, "path add store six@four");
	EXPECT_EQ(o.code, 3);
	EXPECT_TRUE(has(o.err, "no addresses of one family")) << o.err;
	// What ends with a number is an address with a mistake, and nobody is asked for it.
	for (const char *bad : {"10.0.0", "10.0.0.256", "300", "host:1234", "-x", "a b", "fd00::x"})
		EXPECT_EQ(run_words(host, {"map", "/dev/sda", "-s", "n", "-p", bad}).code, 2)
		    << bad;
	EXPECT_EQ(host.writes.size(), 1u);
}

// The words of a path are checked before the kernel has them: it speaks of the proof alone.
TEST(RnbdadmMap, AddedPathWithoutAProof)
{
	FakeHost host;
	host.client();
	host.errors["add_path"] = EPROTONOSUPPORT;
	Outcome o = run_line(host, "path add store 10.0.0.9");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "one side requires a proof that the other does not give")) << o.err;
}
