// SPDX-License-Identifier: GPL-2.0
// Empty, absent and unreadable are three things, told apart by words and exit codes.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

// What nobody can look at, not even root: a link to itself.
void spoil(FakeHost &host, const std::string &path)
{
	host.drop(path);
	fs::create_directories(fs::path(host.place(path)).parent_path());
	fs::create_symlink(fs::path(path).filename(), host.place(path));
}

const char *const kLooks[] = {
    "list",	    "list sessions", "list paths",    "list tree",     "dump",
    "show x",	    "stats",	     "stats --reset", "session list",  "path list",
    "path show x",  "save",	     "server list",   "server show x", "list opened",
    "list exports", "hca list",	     "explain x",     "recover --all", "server export list"};

} // namespace

TEST(RnbdadmAbsent, WithoutModulesNothingIsEmpty)
{
	for (const char *line : kLooks) {
		FakeHost host;
		for (const char *format : {"", " -o json"}) {
			if (*format && std::string(line) == "save")
				continue;
			Outcome o = run_line(host, std::string(line) + format);
			EXPECT_EQ(o.code, 9) << line;
			EXPECT_EQ(o.out, "") << line;
			EXPECT_TRUE(has(o.err, "loaded")) << line << o.err;
		}
	}
}

TEST(RnbdadmAbsent, WithoutSysfsNothingIsKnown)
{
	FakeHost host;
	host.drop("/sys/class");
	Outcome o = run_line(host, "list");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "there is no sysfs")) << o.err;
}

TEST(RnbdadmAbsent, EmptyIsNoFailure)
{
	FakeHost host;
	host.put(rnbdadm::kMapDevice, "Usage");
	for (const char *line :
	     {"list", "list sessions", "list tree", "stats", "unmap --all", "save"}) {
		Outcome o = run_line(host, line);
		EXPECT_EQ(o.code, 0) << line;
		EXPECT_EQ(o.err, "") << line;
	}
	// One of both sides may be missing.
	FakeHost server;
	server.server();
	Outcome o = run_line(server, "list");
	EXPECT_EQ(o.code, 0);
	EXPECT_TRUE(has(o.err, "rnbd_client is not loaded")) << o.err;
	EXPECT_EQ(run_line(server, "unmap --if-mapped x").code, 0);
	EXPECT_EQ(run_line(server, "server export list").code, 0);
	server.drop("/sys/kernel/config/rnbd");
	EXPECT_EQ(run_line(server, "server export list").code, 0); // a module without
	server.put("/sys/module/rnbd_server/parameters/exports_only", "N");
	EXPECT_EQ(run_line(server, "server export list").code, 9);
}

TEST(RnbdadmAbsent, NothingConfiguredIsSaid)
{
	FakeHost host;
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 0);
	EXPECT_TRUE(has(o.err, "nothing of that kind is configured in /etc/rnbd/rnbd.conf"))
	    << o.err;
}

TEST(RnbdadmAbsent, UnreadableEndsTheCommand)
{
	struct Case {
		const char *line;
		const char *path;
	};
	const Case cases[] = {
	    {"list", "/sys/block"},
	    {"list", "/sys/block/rnbd0/rnbd"},
	    {"list", "/sys/block/rnbd0/rnbd/session"},
	    {"list sessions", "/sys/class/rtrs-client"},
	    {"stats", "/sys/class/rtrs-client/store/paths"},
	    {"metrics", "/sys/class/rtrs-client/store/paths"},
	    {"server list", "/sys/class/rnbd-server/ctl/devices"},
	    {"list exports", "/sys/kernel/config/rnbd/exports"},
	    {"hca list", "/sys/class/infiniband"},
	};
	for (const Case &c : cases) {
		FakeHost host;
		host.client();
		host.server();
		spoil(host, c.path);
		Outcome o = run_line(host, c.line);
		EXPECT_EQ(o.code, 1) << c.line << c.path;
		EXPECT_TRUE(has(o.err, std::string("cannot read ") + c.path)) << o.err;
		EXPECT_EQ(o.out, "") << c.line;
		// doctor has looked at all else.
		o = run_line(host, "doctor");
		EXPECT_EQ(o.code, 12) << c.path;
		EXPECT_TRUE(has(o.out, std::string("problem  access: cannot read ") + c.path))
		    << o.out;
		EXPECT_TRUE(has(o.out, "configuration: 0 devices")) << o.out;
	}
}

TEST(RnbdadmAbsent, AnUnreadableConfigurationIsAMistake)
{
	for (const char *path :
	     {"/etc/rnbd/rnbd.conf", "/etc/rnbd/rnbd.conf.d", "/etc/rnbd/rnbd.conf.d/x.conf"}) {
		FakeHost host;
		spoil(host, path);
		Outcome o = run_line(host, "apply");
		EXPECT_EQ(o.code, 11) << path;
		EXPECT_TRUE(has(o.err, std::string("cannot read ") + path)) << o.err;
		EXPECT_EQ(run_line(host, "check").code, 11) << path;
		EXPECT_EQ(run_line(host, "generate units /run/u").code, 11) << path;
	}
}

TEST(RnbdadmAbsent, MetricsSayWhichModulesThereAre)
{
	FakeHost host;
	EXPECT_TRUE(
	    has(run_line(host, "metrics").out, "rnbd_module_loaded{module=\"rnbd_client\"} 0\n"));
	host.client();
	EXPECT_TRUE(
	    has(run_line(host, "metrics").out, "rnbd_module_loaded{module=\"rnbd_client\"} 1\n"));
}
