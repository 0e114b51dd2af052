// SPDX-License-Identifier: GPL-2.0
// Names of machines in the paths of the configuration.
#include "fake.hh"

#include "config.hh"

namespace {

const char *const kNamed = R"([session new]
path = store1
path = 10.0.1.2@store1b
[device data]
session = new
device = /dev/sda
[session other]
path = 10.0.0.7
[device more]
session = other
device = /dev/sdb
)";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmConfigNames : public testing::Test {
protected:
	RnbdadmConfigNames()
	{
		host.client();
		host.put(rnbdadm::kConfigFile, kNamed);
		host.machines = {{"store1", {"fd00::9", "10.0.0.9"}},
				 {"store1b", {"fd01::9", "10.0.1.9"}}};
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmConfigNames, AreResolvedWhenApplied)
{
	// Not when it is read: who unmaps needs no resolver.
	host.machines.clear();
	EXPECT_EQ(run_line(host, "check").code, 0);
	host.machines = {{"store1", {"fd00::9", "10.0.0.9"}}, {"store1b", {"fd01::9", "10.0.1.9"}}};
	Outcome o = run_line(host, "apply data");
	EXPECT_EQ(o.code, 0) << o.err;
	ASSERT_EQ(host.writes.size(), 1u);
	EXPECT_TRUE(has(host.writes[0], "path=ip:fd00::9 path=ip:10.0.1.2@ip:10.0.1.9 device_path"))
	    << host.writes[0];
}

TEST_F(RnbdadmConfigNames, APathToAnyAddressIsThePath)
{
	host.device(5, "new", "/dev/sda");
	host.session("new");
	host.path("new", "10.0.0.2", "10.0.0.9", "mlx5_0", "connected");
	host.path("new", "10.0.1.2", "10.0.1.9", "mlx5_1", "connected");
	Outcome o = run_line(host, "diff");
	EXPECT_FALSE(has(o.out, "session new")) << o.out;
	o = run_line(host, "apply data");
	EXPECT_EQ(o.code, 0) << o.err;
	for (const std::string &write : host.writes)
		EXPECT_FALSE(has(write, "add_path")) << write;
	o = run_line(host, "save");
	EXPECT_TRUE(has(o.out, "path = store1\npath = ip:10.0.1.2@store1b\n")) << o.out;
	// It has moved: another path is missing, and the old one is too much.
	host.machines["store1"] = {"10.0.0.10"};
	o = run_line(host, "diff");
	EXPECT_EQ(o.code, 12);
	EXPECT_TRUE(has(o.out, "ip:10.0.0.10")) << o.out;
	EXPECT_TRUE(has(o.out, "10.0.0.2@10.0.0.9")) << o.out;
}

// It may pass by itself, so it is no mistake: the unit tries again.
TEST_F(RnbdadmConfigNames, WhatNobodyKnowsCostsItsOwn)
{
	host.machines.erase("store1");
	Outcome o = run_line(host, "apply data");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(o.err, "session new: path store1: the name 'store1' has no address"))
	    << o.err;
	EXPECT_TRUE(has(host.writes.back(), "sessname=new path=ip:10.0.1.2@ip:10.0.1.9 device"))
	    << host.writes.back();
	host.drop("/sys/block/rnbd2");
	host.drop("/sys/class/rtrs-client/new");
	host.writes.clear();
	host.machines.clear();
	o = run_line(host, "apply --devices");
	EXPECT_EQ(o.code, 10) << o.err;
	EXPECT_TRUE(has(o.out, "device data: failed\ndevice more: mapped\n")) << o.out;
	EXPECT_EQ(run_line(host, "apply data").code, 1);
	o = run_line(host, "diff");
	EXPECT_TRUE(has(o.out, "device data")) << o.out;
	EXPECT_FALSE(has(o.out, "device more")) << o.out;
}

TEST_F(RnbdadmConfigNames, AnInitramfsGetsAddresses)
{
	host.put(rnbdadm::kConfigFile,
		 std::string(kNamed) +
		     "[device root]\nsession = new\ndevice = r\ninitramfs = yes\n");
	fs::create_directories(host.place("/image"));
	EXPECT_EQ(run_line(host, "generate initramfs /image").out, "root\n");
	EXPECT_TRUE(has(host.text("/image/etc/rnbd/rnbd.conf"),
			"path = ip:fd00::9\npath = ip:10.0.1.2@ip:10.0.1.9\n"))
	    << host.text("/image/etc/rnbd/rnbd.conf");
	host.machines.erase("store1b");
	Outcome o = run_line(host, "generate initramfs /image");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.err, "rnbd.conf:1: path ip:10.0.1.2@store1b: the name 'store1b'"))
	    << o.err;
}

TEST_F(RnbdadmConfigNames, WhatIsNeitherIsAMistake)
{
	for (const char *bad : {"10.0.0", "300", "st_ore", "10.0.0.1@ho/st", "store1:1234"}) {
		host.put(rnbdadm::kConfigFile, std::string("[session s]\npath = ") + bad + "\n");
		Outcome o = run_line(host, "check");
		EXPECT_EQ(o.code, 11) << bad;
		EXPECT_TRUE(has(o.out, "is no address")) << o.out;
	}
	host.put(rnbdadm::kConfigFile, "[session s]\npath = a b\n");
	EXPECT_TRUE(
	    has(run_line(host, "check").out, "rnbd.conf:2: path: 'a b' is more than one word"));
}
