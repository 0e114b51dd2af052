// SPDX-License-Identifier: GPL-2.0
// Reasons that name what is most likely wrong: at the client of a server that says little, and at
// the server before a client has asked.
#include "fake.hh"

#include <cerrno>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmReason : public testing::Test {
protected:
	RnbdadmReason()
	{
		fs::create_directories(host.place("/etc/rnbd"));
		host.client();
		host.server();
		host.put("/sys/module/rnbd_server/parameters/exports_only", "Y");
	}
	std::string refused(const std::string &line, int error)
	{
		host.errors["ctl/map_device"] = error;
		Outcome o = run_line(host, line);
		EXPECT_EQ(o.code, 1) << o.err;
		return o.err;
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmReason, NobodyAnswers)
{
	const std::string said = refused("map vm1 -s new -p 10.0.0.9", ETIMEDOUT);
	EXPECT_TRUE(has(said, "Most often rnbd_server is not loaded there")) << said;
	EXPECT_TRUE(
	    has(said, "on the server: modprobe rnbd_server, or systemctl start rnbd-server"))
	    << said;
}

TEST_F(RnbdadmReason, AccessIsDenied)
{
	std::string said = refused("map vm1 -s new -p 10.0.0.9", EACCES);
	EXPECT_TRUE(has(said, "the export is disabled")) << said;
	EXPECT_TRUE(
	    has(said, "session new proves no key, which the export may ask for: --key NAME"))
	    << said;
	EXPECT_TRUE(has(said, "rnbdadm server export show vm1")) << said;
	said = refused("map vm1 -s new -p 10.0.0.9 --key client7", EACCES);
	EXPECT_FALSE(has(said, "proves no key")) << said;
	EXPECT_TRUE(has(said, "session new proves key client7; is that one of the export's?"))
	    << said;
	// A session that is there has a key of its own, whatever is said.
	said = refused("map vm1 -s store", EACCES);
	EXPECT_TRUE(has(said, "session store proves no key")) << said;
	host.put("/sys/class/rtrs-client/store/key", "client8");
	said = refused("map vm1 -s store", EACCES);
	EXPECT_TRUE(has(said, "session store proves key client8")) << said;
}

TEST_F(RnbdadmReason, ADisabledExportIsShown)
{
	EXPECT_TRUE(has(run_line(host, "server export list").out, "ENABLED"));
	EXPECT_TRUE(has(run_line(host, "server export list --no-header").out, "  yes"));
	host.put("/sys/kernel/config/rnbd/exports/vm1/enable", "0");
	EXPECT_TRUE(has(run_line(host, "server export list --no-header").out, "  no"));
}

TEST_F(RnbdadmReason, KeysThatDoNotExist)
{
	ASSERT_EQ(run_line(host, "key generate client7").code, 0);
	const std::string none = "there is no key 'client8' on this machine";
	Outcome o = run_line(host, "server export add a /dev/sdb --key client8");
	EXPECT_EQ(o.code, 0);
	EXPECT_TRUE(has(o.err, "export a: " + none + ", did you mean 'client7'?")) << o.err;
	EXPECT_TRUE(has(o.err, "rnbdadm key generate client8")) << o.err;
	EXPECT_TRUE(has(run_line(host, "server export set vm1 --key client8").err, none));
	EXPECT_EQ(run_line(host, "server export set vm1 --key client7").err, "");
	EXPECT_EQ(run_line(host, "server export set vm1 --key client*").err, "");
	o = run_line(host, "server export set vm1 --key web-*");
	EXPECT_TRUE(has(o.err, "there is no key whose name begins with 'web-'")) << o.err;
	EXPECT_EQ(run_line(host, "server export set vm1 --key *").err, "");
	o = run_line(host, "doctor");
	EXPECT_TRUE(has(o.out, "problem  export a: " + none)) << o.out;
	EXPECT_FALSE(has(o.out, "export vm1: there is no key")) << o.out;
	EXPECT_EQ(o.code, 12);
	// A file is not wrong for it: the key may come later.
	host.put("/etc/rnbd/rnbd.conf",
		 "[export b]\ndevice = /dev/sdb\nkey = client8\nkey = client7\n"
		 "[session s]\npath = 10.0.0.1\nkey = client9\n");
	o = run_line(host, "check");
	EXPECT_EQ(o.code, 0) << o.out;
	EXPECT_TRUE(has(o.err, "export b: " + none)) << o.err;
	EXPECT_TRUE(has(o.err, "session s: there is no key 'client9' on this machine")) << o.err;
	// One that the kernel alone has is there; who may not look says nothing.
	host.ring = {{7, "logon", "rnbd:client8:1", 0}, {8, "logon", "rnbd:client9:1", 0}};
	EXPECT_EQ(run_line(host, "check").err, "");
	host.ring.reset();
	host.is_root = false;
	EXPECT_FALSE(has(run_line(host, "check").err, "there is no key"));
}

TEST_F(RnbdadmReason, WhatIsNoBlockDeviceIsNotExported)
{
	for (const char *path : {"/etc/passwd", "/dev/null", "/dev/sdb"})
		host.put(path, "");
	host.disks = {"/dev/sdb"};
	fs::create_directories(host.place("/srv"));
	for (const char *path : {"/etc/passwd", "/dev/null", "/srv"}) {
		Outcome o = run_line(host, std::string("server export add a ") + path);
		EXPECT_EQ(o.code, 2) << path;
		EXPECT_TRUE(has(o.err, std::string(path) + " is no block device")) << o.err;
		EXPECT_TRUE(has(o.err, "losetup")) << o.err;
		host.put("/etc/rnbd/rnbd.conf", std::string("[export a]\ndevice = ") + path);
		o = run_line(host, "apply");
		EXPECT_EQ(o.code, 2) << path;
		EXPECT_TRUE(has(o.err, std::string(path) + " is no block device")) << o.err;
		EXPECT_TRUE(has(run_line(host, "check").err, "is no block device"));
	}
	for (const char *path : {"sdb", "vg0/vm1", "./sdb", "../dev/sdb"}) {
		Outcome o = run_line(host, std::string("server export add a ") + path);
		EXPECT_EQ(o.code, 2) << path;
		EXPECT_TRUE(has(o.err, "is no absolute name of a block device, such as /dev/"))
		    << o.err;
		host.put("/etc/rnbd/rnbd.conf", std::string("[export a]\ndevice = ") + path);
		o = run_line(host, "check");
		EXPECT_EQ(o.code, 11) << path;
		EXPECT_TRUE(has(o.out, "rnbd.conf:2: ")) << o.out;
		EXPECT_TRUE(has(o.out, "is no absolute name of a block device")) << o.out;
	}
	EXPECT_TRUE(host.writes.empty());
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/a"));
	EXPECT_EQ(run_line(host, "server export add a /dev/sdb").code, 0);
	// It may come later.
	EXPECT_EQ(run_line(host, "server export add b /dev/sdc").code, 0);
}
