// SPDX-License-Identifier: GPL-2.0
// Disks that are mapped: remap, resize, recover.
#include "fake.hh"

#include <cerrno>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(RnbdadmDevice, RemapResizeRecover)
{
	FakeHost host;
	host.client(true);
	host.put("/sys/block/rnbd1/rnbd/state", "closed");
	EXPECT_EQ(run_line(host, "remap rnbd0").code, 0);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "resize rnbd0 4G").code, 0);
	EXPECT_EQ(host.writes.back(), "/sys/block/rnbd0/rnbd/resize <- 8388608");
	EXPECT_EQ(run_line(host, "resize rnbd0 1G").code, 2);
	host.put("/proc/self/mountinfo", "");
	EXPECT_EQ(run_line(host, "resize rnbd0 1G --shrink").code, 0);
	EXPECT_EQ(run_line(host, "recover --all").code, 0);
	EXPECT_EQ(host.text("/sys/block/rnbd1/rnbd/state"), "open");
	EXPECT_EQ(host.text("/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1/state"),
		  "connected");
}

// As scripts name them, which run beside udev.
TEST(RnbdadmDevice, LinksOfUdevAreNamesOfADevice)
{
	FakeHost host;
	host.client();
	host.make_link("/dev/rnbd/by-session/store/dev/nvme1n1", "../../../../rnbd1");
	host.make_link("/dev/disk/by-label/other", "../../sda1");
	EXPECT_TRUE(
	    has(run_line(host, "show /dev/rnbd/by-session/store/dev/nvme1n1").out, "rnbd1"));
	EXPECT_EQ(run_line(host, "resize /dev/rnbd/by-session/store/dev/nvme1n1 64G").code, 0);
	EXPECT_EQ(host.writes.back(), "/sys/block/rnbd1/rnbd/resize <- 134217728");
	const std::size_t before = host.writes.size();
	EXPECT_EQ(run_line(host, "unmap /dev/disk/by-label/other").code, 3);
	EXPECT_EQ(run_line(host, "unmap /dev/rnbd/by-session/store/gone").code, 3);
	EXPECT_EQ(run_line(host, "unmap --if-mapped /dev/rnbd/by-session/store/gone").code, 0);
	EXPECT_EQ(host.writes.size(), before);
	EXPECT_EQ(run_line(host, "unmap --if-mapped /dev/rnbd/by-session/store/dev/nvme1n1").code,
		  0);
	EXPECT_EQ(host.writes.back(), "/sys/block/rnbd1/rnbd/unmap_device <- normal");
}

TEST(RnbdadmDevice, ForcedRemapMapsItAsItWas)
{
	FakeHost host;
	host.client();
	host.put("/sys/block/rnbd1/rnbd/no_path_timeout", "30");
	EXPECT_EQ(run_line(host, "remap rnbd1 --force").code, 0);
	EXPECT_EQ(host.writes[0], "/sys/block/rnbd1/rnbd/unmap_device <- normal");
	EXPECT_EQ(host.writes[1],
		  "/sys/class/rnbd-client/ctl/map_device <- sessname=store "
		  "path=ip:10.0.0.2@ip:10.0.0.1 path=ip:10.0.1.2@ip:10.0.1.1 "
		  "device_path=/dev/nvme1n1 access_mode=ro no_path_timeout=30 auth=optional");
	EXPECT_EQ(host.text("/sys/block/rnbd2/rnbd/no_path_timeout"), "30");
	EXPECT_EQ(host.writes.size(), 2u);
	// It was not ours, and is not now.
	EXPECT_FALSE(host.exists("/run/rnbd/devices/rnbd2"));
}

// A session that ends with its only device gets back all that was its own.
TEST(RnbdadmDevice, ForcedRemapKeepsPortPathsAndSettings)
{
	FakeHost host;
	host.client();
	const std::string store = "/sys/class/rtrs-client/store/";
	for (int i = 3; i < 9; i++)
		host.path("store", fmt::format("ip:10.0.{}.2", i), fmt::format("ip:10.0.{}.1", i),
			  "mlx5_0", "connected");
	host.drop("/sys/block/rnbd1");
	host.put(store + "dest_port", "4321");
	host.put(store + "request_timeout", "7");
	host.put(store + "auth", "required");
	host.put(store + "key", "client7");
	EXPECT_TRUE(has(run_line(host, "remap rnbd0 --force --dry-run").out, "dest_port=4321"));
	EXPECT_TRUE(host.writes.empty());
	Outcome o = run_line(host, "remap rnbd0 --force");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(host.writes[1], "dest_port=4321")) << host.writes[1];
	EXPECT_TRUE(has(host.writes[1], "auth=required key=client7")) << host.writes[1];
	EXPECT_EQ(host.text(store + "request_timeout"), "7");
	EXPECT_TRUE(host.exists(store + "paths/ip:10.0.8.2@ip:10.0.8.1"));
}

TEST(RnbdadmDevice, ForcedRemapWithoutAWayBackUnmapsNothing)
{
	FakeHost host;
	host.client();
	host.drop("/sys/block/rnbd1");
	host.drop("/sys/class/rtrs-client/store/dest_port"); // modules of the kernel
	Outcome o = run_line(host, "remap rnbd0 --force");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "say it with --port")) << o.err;
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "remap rnbd0 --force --port 4321").code, 0);
	EXPECT_TRUE(has(host.writes[1], "dest_port=4321")) << host.writes[1];
	// What the server refuses then is said with the way to map it later.
	host.drop("/sys/class/rtrs-client/store/dest_port");
	host.put("/etc/rnbd/rnbd.conf", "[session store]\npath = 10.0.0.1\nport = 77");
	host.errors["ctl/map_device"] = ECONNREFUSED;
	o = run_line(host, "remap /dev/nvme0n1 --force");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "unmapped now; to map it: echo 'sessname=store dest_port=77 path="))
	    << o.err;
}

TEST(RnbdadmDevice, AForcedRemapOfADiskInUseAdvisesNoForce)
{
	FakeHost host;
	host.client();
	host.errors["rnbd0/rnbd/unmap_device"] = EBUSY;
	Outcome o = run_line(host, "remap rnbd0 --force");
	EXPECT_EQ(o.code, 6);
	EXPECT_TRUE(has(o.err, "mounted on /srv/data")) << o.err;
	EXPECT_FALSE(has(o.err, "--force")) << o.err;
	EXPECT_TRUE(has(o.err, "end that first")) << o.err;
	EXPECT_TRUE(has(run_line(host, "unmap rnbd0").err, "--force")) << o.err;
}

TEST(RnbdadmDevice, WhatIsInUseDoesNotShrink)
{
	FakeHost host;
	host.client();
	Outcome o = run_line(host, "resize rnbd0 1M --shrink");
	EXPECT_EQ(o.code, 6);
	EXPECT_TRUE(has(o.err, "cannot shrink /dev/rnbd0: mounted on /srv/data")) << o.err;
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "resize rnbd0 64G").code, 0);
	EXPECT_EQ(run_line(host, "resize rnbd1 1M --shrink").code, 0);
	host.put("/proc/swaps", "Filename Type Size Used Priority\n/dev/rnbd1 partition 1 0 -2");
	EXPECT_EQ(run_line(host, "resize rnbd1 512K --shrink").code, 6);
}

TEST(RnbdadmDevice, RecoverOfAllIsOneRound)
{
	FakeHost host;
	host.client(true);
	host.session("other");
	host.path("other", "ip:10.0.2.2", "ip:10.0.2.1", "mlx5_0", "disconnected");
	host.device(2, "other", "/dev/sdz", "rw", "closed");
	host.errors["ip:10.0.1.1/reconnect"] = ETIMEDOUT;
	Outcome o = run_line(host, "recover --all");
	EXPECT_EQ(o.code, 10);
	EXPECT_TRUE(has(o.err, "session store works, but not all")) << o.err;
	ASSERT_EQ(host.rounds.size(), 2u);
	EXPECT_EQ(host.rounds[0], 2u); // both paths
	EXPECT_EQ(host.rounds[1], 1u); // then the device
	EXPECT_EQ(host.text("/sys/block/rnbd2/rnbd/state"), "open");
}

// A path may come back by itself between the look at it and the wish.
TEST(RnbdadmDevice, RecoverEndsNoPathThatIsBack)
{
	FakeHost host;
	host.client(true);
	EXPECT_EQ(run_line(host, "recover rnbd0").code, 0);
	ASSERT_EQ(host.rounds.size(), 1u);
	EXPECT_TRUE(host.writes[0].ends_with("ip:10.0.1.1/reconnect <- lost")) << host.writes[0];
	// In-tree modules do not know that word.
	FakeHost older;
	older.client(true);
	older.unknown_word = "lost";
	EXPECT_EQ(run_line(older, "recover rnbd0").code, 0);
	EXPECT_TRUE(older.writes.back().ends_with("/reconnect <- 1")) << older.writes.back();
}

TEST(RnbdadmDevice, RecoverOnSomePathsIsPartial)
{
	FakeHost host;
	host.client(true);
	host.errors["ip:10.0.1.1/reconnect"] = ENOTCONN;
	Outcome o = run_line(host, "recover rnbd0");
	EXPECT_EQ(o.code, 10);
	EXPECT_TRUE(has(o.err, "did not accept")) << o.err;
}

// What an interrupted start, or a hand, left out: paths of rnbd.conf that the session lacks come
// with those that are lost, in one round.
TEST(RnbdadmDevice, RecoverAddsPathsThatAreMissing)
{
	FakeHost host;
	host.client(true);
	host.machines["store1"] = {"10.0.2.1"};
	host.put("/etc/rnbd/rnbd.conf", "[session store]\npath = 10.0.0.2@10.0.0.1\n"
					"path = 10.0.1.2@10.0.1.1\npath = 10.0.2.2@store1\n");
	Outcome o = run_line(host, "recover store");
	EXPECT_EQ(o.code, 0) << o.err;
	ASSERT_EQ(host.writes.size(), 2u);
	EXPECT_TRUE(host.writes[0].ends_with("ip:10.0.1.1/reconnect <- lost")) << host.writes[0];
	EXPECT_EQ(host.writes[1], "/sys/class/rtrs-client/store/add_path <- "
				  "ip:10.0.2.2@ip:10.0.2.1");
	ASSERT_EQ(host.rounds.size(), 1u);
	// It has them all.
	host.writes.clear();
	EXPECT_EQ(run_line(host, "recover store").code, 0);
	EXPECT_TRUE(host.writes.empty());
	// One that is refused is said, and is no word that modules may not know.
	host.put("/etc/rnbd/rnbd.conf", "[session store]\npath = 10.0.3.2@10.0.3.1\n");
	host.errors["/add_path"] = EINVAL;
	o = run_line(host, "recover --all");
	EXPECT_EQ(o.code, 10) << o.err;
	EXPECT_TRUE(has(o.err, "path ip:10.0.3.2@ip:10.0.3.1")) << o.err;
	EXPECT_EQ(host.writes.size(), 1u);
}

TEST(RnbdadmDevice, RemapOfASessionIsOfAllItsDevices)
{
	FakeHost host;
	host.client();
	host.session("other");
	host.path("other", "ip:10.0.2.2", "ip:10.0.2.1", "mlx5_0", "connected");
	for (int number : {2, 3})
		host.device(number, "other", "/dev/sd" + std::to_string(number), "rw", "closed");
	EXPECT_EQ(run_line(host, "remap other").code, 0);
	EXPECT_EQ(host.writes,
		  (std::vector<std::string>{"/sys/block/rnbd2/rnbd/remap_device <- 1",
					    "/sys/block/rnbd3/rnbd/remap_device <- 1"}));
	EXPECT_EQ(run_line(host, "remap nobody").code, 3);
}
