// SPDX-License-Identifier: GPL-2.0
// apply --prune: the end of what runs and is not configured.
#include "fake.hh"

#include "model.hh"

#include <cerrno>

namespace {

const std::string kFile = "/etc/rnbd/rnbd.conf";
const std::string kFolder = "/sys/kernel/config/rnbd/exports/";
const std::string kNew = "[session store]\npath = 10.0.0.2@10.0.0.1\npath = 10.0.1.2@10.0.1.1\n"
			 "[device new]\nsession = store\ndevice = /dev/new\n"
			 "[export fresh]\ndevice = /dev/fresh\n";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmPrune : public testing::Test {
protected:
	RnbdadmPrune()
	{
		host.client();
		host.server();
		host.put(kFile, kNew);
		for (int i : {0, 1})
			host.put(fmt::format("/sys/block/rnbd{}/rnbd/owner", i), i ? "old" : "-");
		host.drop("/proc/self/mountinfo");
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmPrune, WhatIsNotConfiguredEndsLast)
{
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.out, "device new: mapped\nexport fresh: exported\n");
	EXPECT_EQ(rnbdadm::read_devices(host).size(), 3u);
	for (const char *gone : {"/sys/block/rnbd2", "/sys/kernel/config/rnbd/exports/fresh"})
		host.drop(gone);
	host.writes.clear();
	o = run_line(host, "apply --prune");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "device new: mapped\nexport fresh: exported\ndevice rnbd0: unmapped\n"
			 "device rnbd1: unmapped\nexport vm1: removed\n");
	ASSERT_GE(host.writes.size(), 3u);
	EXPECT_TRUE(has(host.writes[0], "device_path=/dev/new")) << host.writes[0];
	EXPECT_EQ(host.writes.back(), "/sys/block/rnbd1/rnbd/unmap_device <- normal");
	EXPECT_EQ(rnbdadm::read_devices(host).size(), 1u);
	EXPECT_FALSE(host.exists(kFolder + "vm1"));
	EXPECT_TRUE(host.exists(kFolder + "fresh"));
	EXPECT_EQ(run_line(host, "diff").out, "");
	EXPECT_EQ(run_line(host, "apply --prune").out,
		  "device new: unchanged\nexport fresh: unchanged\n");
}

TEST_F(RnbdadmPrune, DryRunSaysItAndChangesNothing)
{
	host.put("/proc/self/mountinfo", "30 1 252:0 / /srv/data rw - ext4 /dev/rnbd0 rw");
	Outcome o = run_line(host, "apply --prune --dry-run");
	EXPECT_EQ(o.code, 10);
	EXPECT_TRUE(o.out.ends_with("write 'normal' to /sys/block/rnbd1/rnbd/unmap_device\n"))
	    << o.out;
	EXPECT_FALSE(has(o.out, "rnbd0")) << o.out;
	EXPECT_TRUE(has(o.err, "cannot unmap /dev/rnbd0: mounted on /srv/data")) << o.err;
	EXPECT_TRUE(has(o.err, "cannot remove export vm1: a session has")) << o.err;
	o = run_line(host, "apply --prune --dry-run --force");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(o.out, "write 'force' to /sys/block/rnbd0/rnbd/unmap_device\n")) << o.out;
	EXPECT_TRUE(o.out.ends_with("remove folder /sys/kernel/config/rnbd/exports/vm1\n"))
	    << o.out;
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(rnbdadm::read_devices(host).size(), 2u);
}

TEST_F(RnbdadmPrune, WhatIsInUseStays)
{
	host.put("/proc/self/mountinfo", "30 1 252:0 / /srv/data rw - ext4 /dev/rnbd0 rw");
	host.errors["rnbd0/rnbd/unmap_device"] = EBUSY;
	Outcome o = run_line(host, "apply --prune");
	EXPECT_EQ(o.code, 10);
	EXPECT_TRUE(has(o.err, "cannot unmap /dev/rnbd0: mounted on /srv/data\n  end that first; "
			       "--force fails its I/O instead"))
	    << o.err;
	EXPECT_TRUE(has(o.out, "device rnbd0: failed\ndevice rnbd1: unmapped\n")) << o.out;
	EXPECT_TRUE(host.exists("/sys/block/rnbd0"));
	host.errors.clear();
	host.writes.clear();
	EXPECT_EQ(run_line(host, "apply --prune --force").code, 0);
	ASSERT_FALSE(host.writes.empty());
	EXPECT_EQ(host.writes.front(), "/sys/block/rnbd0/rnbd/unmap_device <- force");
}

// As unmap --all does.
TEST_F(RnbdadmPrune, WhatOthersHaveMappedIsSpared)
{
	host.drop("/sys/block/rnbd0/rnbd/owner");
	Outcome o = run_line(host, "apply --prune");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(o.err, "1 not mapped by this program and left alone")) << o.err;
	EXPECT_TRUE(host.exists("/sys/block/rnbd0"));
	EXPECT_FALSE(host.exists("/sys/block/rnbd1"));
	EXPECT_EQ(run_line(host, "apply --prune --others-too").code, 0);
	EXPECT_FALSE(host.exists("/sys/block/rnbd0"));
}

TEST_F(RnbdadmPrune, OneKindOnly)
{
	EXPECT_EQ(run_line(host, "apply --prune --devices").code, 0);
	EXPECT_FALSE(host.exists("/sys/block/rnbd0"));
	EXPECT_TRUE(host.exists(kFolder + "vm1"));
	host.put("/sys/block/rnbd2/rnbd/owner", "-");
	host.put(kFile, "[export fresh]\ndevice = /dev/fresh\n");
	EXPECT_EQ(run_line(host, "apply --prune --exports").code, 0);
	EXPECT_TRUE(host.exists("/sys/block/rnbd2"));
	EXPECT_FALSE(host.exists(kFolder + "vm1"));
	for (const char *line :
	     {"apply new --prune", "apply --force", "apply --others-too", "apply new --force"})
		EXPECT_EQ(run_line(host, line).code, 2) << line;
}

// What could not be brought about may be what shall be there instead.
TEST_F(RnbdadmPrune, NothingEndsAfterAFailure)
{
	host.errors["/map_device"] = ECONNREFUSED;
	Outcome o = run_line(host, "apply --prune");
	EXPECT_EQ(o.code, 10);
	EXPECT_EQ(o.out, "device new: failed\nexport fresh: exported\n");
	EXPECT_TRUE(has(o.err, "nothing is pruned, as not all could be applied")) << o.err;
	EXPECT_EQ(rnbdadm::read_devices(host).size(), 2u);
	EXPECT_TRUE(host.exists(kFolder + "vm1"));
}

// What runs may be what a section with a mistake means, or a file that is not there.
TEST_F(RnbdadmPrune, NothingIsDoneWithoutAConfigurationThatIsWhole)
{
	host.put(kFile, kNew + "[device old]\nsession = store\ndevcie = /dev/nvme1n1\n");
	Outcome o = run_line(host, "apply --prune");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.err, "nothing is done: the configuration has")) << o.err;
	EXPECT_TRUE(has(o.err, kFile + ":11: ")) << o.err;
	EXPECT_EQ(o.out, "");
	host.drop("/etc/rnbd");
	o = run_line(host, "apply --prune");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.err, "there is no /etc/rnbd/rnbd.conf")) << o.err;
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(rnbdadm::read_devices(host).size(), 2u);
	EXPECT_TRUE(host.exists(kFolder + "vm1"));
}
