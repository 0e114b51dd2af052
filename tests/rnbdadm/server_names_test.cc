// SPDX-License-Identifier: GPL-2.0
// A server by the name of its machine, or by an address, wherever a session may be named.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

// Session store leads to store1 over two paths, of which the second is lost, and other to store2.
class RnbdadmServerNames : public testing::Test {
protected:
	RnbdadmServerNames()
	{
		host.client(true);
		host.session("other");
		host.path("other", "ip:10.0.2.2", "ip:10.0.2.1", "mlx5_0", "connected");
		host.device(2, "other", "/dev/sda", "rw", "closed");
		host.machines = {{"store1", {"fd00::1", "10.0.0.1", "10.0.1.1"}},
				 {"store2.example.org", {"10.0.2.1"}},
				 {"both", {"10.0.2.1", "10.0.0.1"}},
				 {"elsewhere", {"192.0.2.1"}}};
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmServerNames, OfASession)
{
	EXPECT_TRUE(has(run_line(host, "session show store1").out, "store\n"));
	EXPECT_TRUE(has(run_line(host, "show store1").out, "session store (client)"));
	EXPECT_EQ(run_line(host, "session set store2.example.org policy=round-robin").code, 0);
	EXPECT_EQ(host.writes, (std::vector<std::string>{
				   "/sys/class/rtrs-client/other/mp_policy <- round-robin"}));
	Outcome o = run_line(host, "session show both");
	EXPECT_EQ(o.code, 4);
	EXPECT_TRUE(has(o.err, "store\n  other") || has(o.err, "other\n  store")) << o.err;
	for (const char *word : {"elsewhere", "nobody"}) {
		o = run_line(host, std::string("session show ") + word);
		EXPECT_EQ(o.code, 3) << o.out;
		EXPECT_TRUE(has(o.err, "there is no session '")) << o.err;
	}
}

TEST_F(RnbdadmServerNames, OfPaths)
{
	for (const char *word : {"store1", "store", "10.0.0.1"}) {
		Outcome o =
		    run_line(host, std::string("path list -o csv --no-header -c name ") + word);
		EXPECT_EQ(o.out, "ip:10.0.0.2@ip:10.0.0.1\nip:10.0.1.2@ip:10.0.1.1\n") << word;
	}
	EXPECT_EQ(run_line(host, "path list nobody").code, 3);
	EXPECT_EQ(run_line(host, "path reconnect store2.example.org").code, 0);
	EXPECT_TRUE(host.writes.back().ends_with("ip:10.0.2.1/reconnect <- 1"));
	// Both paths lead there: none is taken by chance.
	Outcome o = run_line(host, "path disconnect store1");
	EXPECT_EQ(o.code, 4);
	EXPECT_TRUE(has(o.err, "store:ip:10.0.0.2@ip:10.0.0.1\n  store:ip:10.0.1.2@ip:10.0.1.1"))
	    << o.err;
	o = run_line(host, "stats store1 -o csv --no-header -c name");
	EXPECT_EQ(o.out, "ip:10.0.0.2@ip:10.0.0.1\nip:10.0.1.2@ip:10.0.1.1\n");
}

TEST_F(RnbdadmServerNames, OfAClientOnTheServer)
{
	host.server();
	host.machines["client7"] = {"10.0.0.2"};
	EXPECT_EQ(run_line(host, "server disconnect client7").code, 0);
	EXPECT_EQ(host.writes,
		  (std::vector<std::string>{"/sys/class/rtrs-server/alpha/paths/"
					    "ip:10.0.0.2@ip:10.0.0.1/disconnect <- 1"}));
}

TEST_F(RnbdadmServerNames, RecoverAndRemap)
{
	for (const char *word : {"store1", "10.0.1.1", "10.0.1.2@10.0.1.1"}) {
		host.put("/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1/state",
			 "disconnected");
		host.writes.clear();
		Outcome o = run_line(host, std::string("recover ") + word);
		EXPECT_EQ(o.code, 0) << o.err;
		ASSERT_EQ(host.writes.size(), 1u) << word;
		EXPECT_TRUE(host.writes[0].ends_with("ip:10.0.1.1/reconnect <- lost"));
	}
	host.writes.clear();
	EXPECT_EQ(run_line(host, "remap store2.example.org").code, 0);
	EXPECT_EQ(host.writes,
		  (std::vector<std::string>{"/sys/block/rnbd2/rnbd/remap_device <- 1"}));
}

TEST_F(RnbdadmServerNames, Explain)
{
	for (const char *word : {"store", "store1", "10.0.1.1"}) {
		Outcome o = run_line(host, std::string("explain ") + word);
		EXPECT_EQ(o.code, 12) << word;
		for (const char *part :
		     {"ok       device rnbd0: ", "ok       device rnbd1: ", "session store: 1 of 2",
		      "ok       path ip:10.0.0.2@ip:10.0.0.1: connected",
		      "problem  path ip:10.0.1.2@ip:10.0.1.1: disconnected"})
			EXPECT_TRUE(has(o.out, part)) << word << ": " << o.out;
		EXPECT_FALSE(has(o.out, "rnbd2"));
	}
	Outcome o = run_line(host, "explain store2.example.org -o json");
	EXPECT_TRUE(has(o.out, "closed, although its session is connected")) << o.out;
	EXPECT_EQ(run_line(host, "explain nobody").code, 3);
}

// A resolver that nobody answers costs seconds: it is asked only for what may be its own.
TEST_F(RnbdadmServerNames, TheResolverIsAskedLast)
{
	run_line(host, "session show store");
	run_line(host, "recover rnbd0");
	run_line(host, "path reconnect 10.0.1.1");
	run_line(host, "remap rnbd17");
	run_line(host, "unmap stroe");
	EXPECT_EQ(host.asked, std::vector<std::string>{});
	run_line(host, "recover stroe");
	EXPECT_EQ(host.asked, std::vector<std::string>{"stroe"});
	FakeHost alone;
	alone.put("/sys/class/rnbd-client/ctl/map_device", "Usage");
	alone.put("/sys/class/rtrs-client/ctl", "");
	run_line(alone, "session show stroe");
	EXPECT_EQ(alone.asked, std::vector<std::string>{});
}

// A session as a whole: its lost paths and those that it lacks come before its devices.
TEST_F(RnbdadmServerNames, RemapOfASessionConnectsIt)
{
	host.put("/etc/rnbd/rnbd.conf", "[session store]\npath = 10.0.0.2@10.0.0.1\n"
					"path = 10.0.1.2@10.0.1.1\npath = 10.0.3.2@10.0.3.1\n");
	host.put("/sys/block/rnbd1/rnbd/state", "closed");
	Outcome o = run_line(host, "remap store");
	EXPECT_EQ(o.code, 0) << o.err;
	ASSERT_EQ(host.writes.size(), 3u);
	EXPECT_TRUE(host.writes[0].ends_with("ip:10.0.1.1/reconnect <- lost")) << host.writes[0];
	EXPECT_EQ(host.writes[1], "/sys/class/rtrs-client/store/add_path <- "
				  "ip:10.0.3.2@ip:10.0.3.1");
	EXPECT_EQ(host.writes[2], "/sys/block/rnbd1/rnbd/remap_device <- 1");
	// One device of it is one device.
	host.writes.clear();
	host.put("/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1/state",
		 "disconnected");
	host.put("/sys/block/rnbd1/rnbd/state", "closed");
	EXPECT_EQ(run_line(host, "remap rnbd1").code, 0);
	EXPECT_EQ(host.writes.size(), 1u);
	// What does not connect is said, and the devices come back over what does.
	host.writes.clear();
	host.put("/sys/block/rnbd1/rnbd/state", "closed");
	host.errors["ip:10.0.1.1/reconnect"] = ETIMEDOUT;
	o = run_line(host, "remap store");
	EXPECT_EQ(o.code, 10) << o.err;
	EXPECT_TRUE(has(o.err, "session store works, but not all")) << o.err;
	EXPECT_EQ(host.text("/sys/block/rnbd1/rnbd/state"), "open");
	// Without any path its devices are not asked for.
	host.put("/sys/class/rtrs-client/other/paths/ip:10.0.2.2@ip:10.0.2.1/state",
		 "disconnected");
	host.errors["ip:10.0.2.1/reconnect"] = ECONNREFUSED;
	host.writes.clear();
	o = run_line(host, "remap other");
	EXPECT_EQ(o.code, 1) << o.err;
	EXPECT_TRUE(has(o.err, "session other has no path that connects")) << o.err;
	EXPECT_EQ(host.writes.size(), 1u);
}
