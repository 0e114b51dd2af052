// SPDX-License-Identifier: GPL-2.0
// Names with blanks: the kernel's map_device takes them to end there, so none can be mapped, and
// who asks is told so. Whoever made an export by hand may have given it one.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

const std::string kFolder = "/sys/kernel/config/rnbd/exports/for vm/";

} // namespace

TEST(RnbdadmBlank, NothingIsMappedByIt)
{
	FakeHost host;
	host.client();
	Outcome o = run_words(host, {"map", "my disk", "-s", "store"});
	EXPECT_EQ(o.code, 2);
	EXPECT_TRUE(has(o.err, "'my disk' cannot be the name of a device to map: it has 1 to "))
	    << o.err;
	EXPECT_TRUE(has(o.err, "the server can export it by another name")) << o.err;
	o = run_words(host, {"map", "disk", "-s", "my store", "-p", "10.0.0.9"});
	EXPECT_EQ(o.code, 2);
	EXPECT_TRUE(has(o.err, "'my store' cannot be the name of a session")) << o.err;
	EXPECT_TRUE(host.writes.empty());
}

TEST(RnbdadmBlank, NothingIsExportedByIt)
{
	FakeHost host;
	host.server();
	Outcome o = run_words(host, {"server", "export", "add", "my disk", "/dev/sdb"});
	EXPECT_EQ(o.code, 2);
	EXPECT_TRUE(has(o.err, "'my disk' cannot be the name of an export: it has 1 to 254"))
	    << o.err;
	EXPECT_TRUE(host.writes.empty());
	// The server's own device may have one.
	o = run_words(host, {"server", "export", "add", "disk", "/dev/disk/my disk"});
	EXPECT_EQ(o.code, 0) << o.err;
}

TEST(RnbdadmBlank, AMistakeOfTheConfiguration)
{
	FakeHost host;
	host.client();
	host.server();
	host.put("/etc/rnbd/rnbd.conf", "[export my disk]\ndevice = /dev/sdb\n"
					"[session my store]\npath = 10.0.0.9\n"
					"[session s]\npath = 10.0.0.9\n"
					"[device a b]\nsession = s\ndevice = x\n"
					"[device c]\nsession = s\ndevice = /dev/my disk\n"
					"[export my]\ndevice = /dev/my disk\n");
	Outcome o = run_line(host, "check");
	EXPECT_EQ(o.code, 11);
	for (const char *said : {"rnbd.conf:1: '[export my disk]': a name has no blank",
				 "rnbd.conf:3: '[session my store]': a name has no blank",
				 "rnbd.conf:7: '[device a b]': a name has no blank",
				 "rnbd.conf:10: '/dev/my disk' cannot be the name of a device"})
		EXPECT_TRUE(has(o.out, said)) << said << "\n" << o.out;
	o = run_line(host, "apply --exports");
	EXPECT_EQ(o.code, 13) << o.err;
	EXPECT_TRUE(host.exists("/sys/kernel/config/rnbd/exports/my"));
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/my disk"));
}

// It is shown, changed and removed as any other; what is saved can be read again.
TEST(RnbdadmBlank, AnExportMadeByHand)
{
	FakeHost host;
	host.server();
	host.put(kFolder + "device_path", "/dev/sdb");
	host.put(kFolder + "access", "rw");
	host.put(kFolder + "enable", "1");
	host.put(kFolder + "users", "0");
	Outcome o = run_words(host, {"server", "export", "show", "for vm"});
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(o.out, "/dev/sdb")) << o.out;
	EXPECT_EQ(run_words(host, {"server", "export", "set", "for vm", "--access", "ro"}).code, 0);
	EXPECT_EQ(host.writes, std::vector<std::string>{kFolder + "access <- ro"});
	o = run_line(host, "save");
	EXPECT_FALSE(has(o.out, "[export for vm]")) << o.out;
	EXPECT_TRUE(has(o.out, "no client can map it: export 'for vm'")) << o.out;
	host.put("/etc/rnbd/rnbd.conf", o.out);
	EXPECT_EQ(run_line(host, "check").code, 0) << run_line(host, "check").out;
	EXPECT_EQ(run_words(host, {"server", "export", "remove", "for vm"}).code, 0);
}
