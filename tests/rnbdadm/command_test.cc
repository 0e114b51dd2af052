// SPDX-License-Identifier: GPL-2.0
// Command lines: parsing, help, what is refused; map, unmap, paths, sessions, the server's side.
#include "fake.hh"

#include <cerrno>

namespace {

using rnbdadm::Host;

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(RnbdadmLine, OverviewAndHelp)
{
	FakeHost host;
	EXPECT_EQ(run_line(host, "").code, 2);
	EXPECT_EQ(run_line(host, "--help").code, 0);
	EXPECT_TRUE(has(run_line(host, "--help").out, "unmap"));
	EXPECT_TRUE(has(run_line(host, "path --help").out, "path add"));
	EXPECT_TRUE(has(run_line(host, "server export --help").out, "server export add"));
	EXPECT_TRUE(has(run_line(host, "path add --help").out, "[SRC@]DST"));
	EXPECT_TRUE(has(run_line(host, "help path add").out, "[SRC@]DST"));
	EXPECT_TRUE(has(run_line(host, "--version").out, "rnbdadm "));
	EXPECT_EQ(run_line(host, "version").out, run_line(host, "--version").out);
	for (const auto &command : rnbdadm::commands())
		EXPECT_EQ(run_line(host, std::string(command.name) + " --help").code, 0)
		    << command.name;
}

TEST(RnbdadmLine, MistakesAreNamed)
{
	FakeHost host;
	host.client();
	struct Case {
		const char *line;
		const char *says;
	};
	const Case cases[] = {
	    {"lsit", "did you mean 'list'"},
	    {"path ad", "did you mean 'path add'"},
	    {"path", "needs another word"},
	    {"server export", "needs another word"},
	    {"list --outptu json", "did you mean '--output'"},
	    {"list -o jsn", "did you mean 'json'"},
	    {"list -o", "needs a value"},
	    {"list devices -c nmae", "did you mean 'name'"},
	    {"list devces", "did you mean 'devices'"},
	    {"list devices paths", "one word too many"},
	    {"map", "DEVICE_PATH is missing"},
	    {"map x --access rx", "did you mean 'ro'"},
	    {"map x --port 99999", "no whole number from 1 to 65535"},
	    {"map x --session a.b --path 10.0.0.1", "cannot be the name of a session"},
	    {"map x --session new", "a new one needs --path"},
	    {"map x --session new --path 10.0.0", "'10.0.0' is no address"},
	    {"map x --session new --path 10.0.0.1@ho/st", "'ho/st' is no address"},
	    {"map x --session new --path 10.0.0.999", "'10.0.0.999' is no address"},
	    {"map x --session new --path 10.0.0.1:1234", "a port is given apart"},
	    {"map x --session new --path gid:fe80::1::2", "is no address"},
	    {"resize rnbd0 12Q", "is no size"},
	    {"resize rnbd0 513", "is no size"},
	    {"unmap", "name devices, or give --all"},
	    {"unmap rnbd0 --all", "name devices, or give --all"},
	    {"list --raw=1", "takes no value"},
	    {"session set store polcy=rr", "did you mean 'policy'"},
	    {"session set store policy=fast", "is not round-robin"},
	    {"session set store policy round-robin", "policy has no value"},
	    {"session set store request-timeout=4000", "0 (no limit) to 3600"},
	    {"stats --interval 0", ""},
	};
	for (const Case &c : cases) {
		host.writes.clear();
		Outcome o = run_line(host, c.line);
		if (!*c.says)
			continue;
		EXPECT_EQ(o.code, 2) << c.line << o.err;
		EXPECT_TRUE(has(o.err, c.says)) << c.line << ": " << o.err;
		EXPECT_EQ(o.out, "") << c.line;
		EXPECT_TRUE(host.writes.empty()) << c.line;
	}
}

TEST(RnbdadmMap, Proofs)
{
	FakeHost host;
	host.client();
	const std::string line = "map /dev/sda -s other -p 10.0.0.9 ";
	host.put("/sys/class/rnbd-client/ctl/map_device", "Usage: [auth=<policy>] [key=<name>]");
	Outcome o = run_line(host, line + "--key client7 --auth required");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(host.writes[0],
		  "/sys/class/rnbd-client/ctl/map_device <- sessname=other path=ip:10.0.0.9 "
		  "device_path=/dev/sda auth=required key=client7");
	// A key that is named is to be used, also with an older module.
	host.writes.clear();
	o = run_line(host, "map /dev/sdc -s third -p 10.0.0.9 --key client7");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(host.writes[0],
		  "/sys/class/rnbd-client/ctl/map_device <- sessname=third path=ip:10.0.0.9 "
		  "device_path=/dev/sdc auth=required key=client7");
	host.writes.clear();
	o = run_line(host, "map /dev/sdd -s fourth -p 10.0.0.9 --key client7 --auth optional");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(host.writes[0], " auth=optional key=client7")) << host.writes[0];
	// What would connect without the proof that was asked for does not connect.
	host.put("/sys/class/rnbd-client/ctl/map_device", "Usage");
	o = run_line(host, "map /dev/sdb -s another -p 10.0.0.9 --key client7");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "knows no auth and no key")) << o.err;
	for (const char *bad : {"--auth always", "--key a/b", "--key a --auth off"})
		EXPECT_EQ(run_line(host, line + bad).code, 2) << bad;
}

TEST(RnbdadmMap, NewSession)
{
	FakeHost host;
	host.client();
	Outcome o =
	    run_line(host, "map /dev/sda -s other -p 10.0.0.9 -p 10.0.1.2,10.0.1.9 --port 4321 "
			   "-a migration --poll-queues -1");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "/dev/rnbd2\n");
	EXPECT_EQ(host.writes[0],
		  "/sys/class/rnbd-client/ctl/map_device <- sessname=other dest_port=4321 "
		  "path=ip:10.0.0.9 path=ip:10.0.1.2@ip:10.0.1.9 device_path=/dev/sda "
		  "access_mode=migration nr_poll_queues=-1 owner=-");
	EXPECT_FALSE(host.exists("/run/rnbd/devices/rnbd2"));
	// A module that keeps no owner.
	host.put("/sys/class/rnbd-client/ctl/map_device", "Usage");
	EXPECT_EQ(run_line(host, "map /dev/sdb -s other").code, 0);
	EXPECT_EQ(host.text("/run/rnbd/devices/rnbd3"), "other\n/dev/sdb\n-");
}

TEST(RnbdadmMap, Shared)
{
	FakeHost host;
	host.client();
	const std::string usage = "[access_mode=<ro|rw|migration|shared>] [owner=<word>]";
	host.put("/sys/class/rnbd-client/ctl/map_device", usage);
	EXPECT_EQ(run_line(host, "map gfs -a shared").code, 0);
	EXPECT_EQ(host.writes[0], "/sys/class/rnbd-client/ctl/map_device <- sessname=store "
				  "device_path=gfs access_mode=shared owner=-");
	EXPECT_TRUE(has(run_line(host, "show rnbd2").out, "shared\n"));
	host.errors["map_device"] = EOPNOTSUPP;
	Outcome o = run_line(host, "map other -a shared");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "with access shared, the server does not know that")) << o.err;
	host.errors.clear();
	host.writes.clear();
	// A module that does not know it is not asked.
	host.put("/sys/class/rnbd-client/ctl/map_device", "[access_mode=<ro|rw|migration>]");
	o = run_line(host, "map other -a shared");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "module rnbd_client does not know access shared")) << o.err;
	EXPECT_TRUE(host.writes.empty());
}

TEST(RnbdadmMap, TheOnlySessionIsTaken)
{
	FakeHost host;
	host.client();
	EXPECT_EQ(run_line(host, "map /dev/sda").out, "/dev/rnbd2\n");
	host.session("second");
	Outcome o = run_line(host, "map /dev/sdb");
	EXPECT_EQ(o.code, 2);
	EXPECT_TRUE(has(o.err, "second store")) << o.err;
}

TEST(RnbdadmMap, NoPathTimeoutIsSet)
{
	FakeHost host;
	host.client();
	// With the mapping: a disk without it is never there.
	EXPECT_EQ(run_line(host, "map /dev/sda --no-path-timeout 30").code, 0);
	EXPECT_EQ(host.writes, std::vector<std::string>{
				   "/sys/class/rnbd-client/ctl/map_device <- sessname=store "
				   "device_path=/dev/sda no_path_timeout=30 owner=-"});
	EXPECT_EQ(host.text("/sys/block/rnbd2/rnbd/no_path_timeout"), "30");
	// A module whose usage does not know it gets it afterwards, and --dry-run says so.
	host.put("/sys/class/rnbd-client/ctl/map_device", "Usage");
	EXPECT_EQ(run_line(host, "map /dev/sdb --no-path-timeout 30 --dry-run").out,
		  "write 'sessname=store device_path=/dev/sdb' to "
		  "/sys/class/rnbd-client/ctl/map_device\n"
		  "write 'store /dev/sdb -' to /run/rnbd/devices/<the new disk>\n"
		  "write '30' to /sys/block/<the new disk>/rnbd/no_path_timeout\n");
	EXPECT_EQ(run_line(host, "map /dev/sdb --no-path-timeout 30").code, 0);
	EXPECT_EQ(host.writes.back(), "/sys/block/rnbd3/rnbd/no_path_timeout <- 30");
}

TEST(RnbdadmMap, Refusals)
{
	FakeHost host;
	host.client();
	EXPECT_EQ(run_line(host, "map /dev/nvme0n1").code, 5);
	struct Case {
		int error, code;
		const char *says;
	};
	const Case cases[] = {{ENOENT, 1, "no such block device"},
			      {EPERM, 6, "another session has the device open"},
			      {ECONNREFUSED, 1, "nobody listens"},
			      {EHOSTUNREACH, 1, "no route"},
			      {EACCES, 1, "refuses access"},
			      {EUSERS, 1, "as many sessions"},
			      {ECONNRESET, 1, "rnbd_server is not loaded"},
			      // The kernel's own limit is no limit of this program.
			      {ETIMEDOUT, 1, "the kernel has given up: nobody answers"},
			      {ETIMEDOUT, 1, "ping <address>"},
			      {Host::kCancelled, 7, "not decided within 90 s, and given up"},
			      {Host::kGoesOn, 7, "within 90 s; the kernel goes on with it"},
			      {EEXIST, 5, "already"}};
	for (const Case &c : cases) {
		host.errors["map_device"] = c.error;
		Outcome o = run_line(host, "map /dev/sda");
		EXPECT_EQ(o.code, c.code) << o.err;
		EXPECT_TRUE(has(o.err, c.says)) << o.err;
		EXPECT_EQ(o.out, "");
	}
}

// What this machine refuses is not said to be the server's word.
TEST(RnbdadmMap, NotRoot)
{
	FakeHost host;
	host.client();
	host.is_root = false;
	for (const char *line : {"map /dev/sda", "unmap rnbd0", "path disconnect 10.0.1.1"}) {
		Outcome o = run_line(host, line);
		EXPECT_EQ(o.code, 8) << line;
		EXPECT_TRUE(has(o.err, "no permission") && has(o.err, "root")) << o.err;
		EXPECT_FALSE(has(o.err, "server refuses")) << o.err;
	}
	EXPECT_EQ(run_line(host, "list").code, 0);
	EXPECT_EQ(run_line(host, "map /dev/sda --dry-run").code, 0);
}

// A scope belongs to a link-local address.
TEST(RnbdadmMap, AddressesOfEachKind)
{
	for (const char *path : {"10.0.0.1", "ip:fd00::1", "fe80::1%eth0@fe80::2%eth0",
				 "gid:fe80:0000:0000:0000:0202:c9ff:fe00:0001"}) {
		FakeHost host;
		host.client();
		Outcome o = run_words(host, {"map", "/dev/sda", "-s", "new", "-p", path});
		EXPECT_EQ(o.code, 0) << path << o.err;
	}
}

TEST(RnbdadmMap, ModuleIsMissing)
{
	FakeHost host;
	Outcome o = run_line(host, "map /dev/sda -s x -p 10.0.0.1");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "modprobe rnbd_client"));
}

TEST(RnbdadmMap, DryRunWritesNothing)
{
	FakeHost host;
	host.client();
	Outcome o = run_line(host, "map /dev/sda -n");
	EXPECT_EQ(o.code, 0);
	EXPECT_EQ(o.out, "write 'sessname=store device_path=/dev/sda owner=-' to "
			 "/sys/class/rnbd-client/ctl/map_device\n");
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "unmap rnbd0 -n").code, 0);
	EXPECT_TRUE(host.writes.empty());
}

TEST(RnbdadmUnmap, ByEveryName)
{
	for (const char *name : {"rnbd0", "/dev/rnbd0", "/dev/nvme0n1", "store:/dev/nvme0n1",
				 "/dev/nvme0n1@store", "!dev!nvme0n1@store"}) {
		FakeHost host;
		host.client();
		EXPECT_EQ(run_line(host, std::string("unmap ") + name).code, 0) << name;
		EXPECT_FALSE(host.exists("/sys/block/rnbd0")) << name;
		EXPECT_TRUE(host.exists("/sys/block/rnbd1")) << name;
	}
}

TEST(RnbdadmUnmap, AmbiguityListsTheCandidates)
{
	FakeHost host;
	host.client();
	host.session("other");
	host.device(7, "other", "/dev/nvme0n1");
	Outcome o = run_line(host, "unmap /dev/nvme0n1");
	EXPECT_EQ(o.code, 4);
	EXPECT_TRUE(has(o.err, "rnbd0\n") && has(o.err, "rnbd7\n")) << o.err;
	EXPECT_TRUE(host.writes.empty());
}

TEST(RnbdadmUnmap, UnknownNameHasANeighbour)
{
	FakeHost host;
	host.client();
	Outcome o = run_line(host, "unmap rnbd00");
	EXPECT_EQ(o.code, 3);
	EXPECT_TRUE(has(o.err, "did you mean 'rnbd0'")) << o.err;
	EXPECT_EQ(run_line(host, "unmap nothing --if-mapped").code, 0);
}

TEST(RnbdadmUnmap, BusySaysWho)
{
	FakeHost host;
	host.client();
	host.errors["rnbd0/rnbd/unmap_device"] = EBUSY;
	Outcome o = run_line(host, "unmap rnbd0 rnbd1");
	EXPECT_EQ(o.code, 10); // one of two
	EXPECT_TRUE(has(o.err, "mounted on /srv/data")) << o.err;
	EXPECT_FALSE(host.exists("/sys/block/rnbd1"));
	EXPECT_EQ(run_line(host, "unmap rnbd0").code, 6);
}

// udev has a disk open for a moment after each writer, and nobody can say so by name.
TEST(RnbdadmUnmap, WaitsForAReaderThatComesAndGoes)
{
	FakeHost host;
	host.client();
	host.errors["rnbd1/rnbd/unmap_device"] = EBUSY;
	int slept = 0;
	host.on_sleep = [&] {
		if (++slept == 3)
			host.errors.clear();
	};
	EXPECT_EQ(run_line(host, "unmap rnbd1").code, 0);
	EXPECT_FALSE(host.exists("/sys/block/rnbd1"));

	host.errors["rnbd0/rnbd/unmap_device"] = EBUSY;
	slept = 3;
	EXPECT_EQ(run_line(host, "unmap rnbd0").code, 6);
	EXPECT_EQ(slept, 3) << "who uses it is known";
}

TEST(RnbdadmUnmap, AllSparesWhatOthersMapped)
{
	FakeHost host;
	host.client();
	run_line(host, "map /dev/sda");
	Outcome spared = run_line(host, "unmap --all");
	EXPECT_EQ(spared.code, 0);
	EXPECT_TRUE(has(spared.err, "2 not mapped by this program")) << spared.err;
	EXPECT_TRUE(host.exists("/sys/block/rnbd0"));
	EXPECT_FALSE(host.exists("/sys/block/rnbd2"));
	EXPECT_FALSE(host.exists("/run/rnbd/devices/rnbd2"));
	EXPECT_EQ(run_line(host, "unmap --all --others-too -f").code, 0);
	EXPECT_FALSE(host.exists("/sys/block/rnbd0"));
	EXPECT_EQ(host.writes.back(), "/sys/block/rnbd1/rnbd/unmap_device <- force");
}

TEST(RnbdadmUnmap, ARecordOfAnotherMappingIsNone)
{
	FakeHost host;
	host.client();
	// rnbd0 was ours once; the number is another mapping's now.
	host.put("/run/rnbd/devices/rnbd0", "store\n/dev/old\n-");
	EXPECT_EQ(run_line(host, "unmap --all").code, 0);
	EXPECT_TRUE(host.exists("/sys/block/rnbd0"));
}

TEST(RnbdadmPath, AddRemoveReconnect)
{
	FakeHost host;
	host.client();
	EXPECT_EQ(run_line(host, "path add store 10.0.2.2@10.0.2.1").code, 0);
	EXPECT_EQ(host.writes.back(),
		  "/sys/class/rtrs-client/store/add_path <- ip:10.0.2.2@ip:10.0.2.1");
	EXPECT_EQ(run_line(host, "path reconnect store:10.0.1.1").code, 0);
	EXPECT_EQ(run_line(host, "path disconnect mlx5_0:1").code, 0);
	EXPECT_EQ(run_line(host, "path delete 10.0.2.2@10.0.2.1").code, 0);
	EXPECT_EQ(run_line(host, "path re-add 10.0.1.2@10.0.1.1 -f").code, 0);
	Outcome o = run_line(host, "path reconnect mlx5");
	EXPECT_EQ(o.code, 3) << o.err;
}

TEST(RnbdadmPath, TheLastOneIsKept)
{
	FakeHost host;
	host.client(true);
	EXPECT_EQ(run_line(host, "path remove 10.0.0.1").code, 6);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "path remove 10.0.0.1 --force").code, 0);
}

TEST(RnbdadmPath, AmbiguousPort)
{
	FakeHost host;
	host.client();
	Outcome o = run_line(host, "path reconnect store:1");
	EXPECT_EQ(o.code, 4);
	EXPECT_TRUE(has(o.err, "store:ip:10.0.0.2@ip:10.0.0.1")) << o.err;
}

TEST(RnbdadmSession, Settings)
{
	FakeHost host;
	host.client();
	EXPECT_EQ(run_line(host, "session set store policy=RR request-timeout=5").code, 0);
	EXPECT_EQ(host.writes[0], "/sys/class/rtrs-client/store/mp_policy <- round-robin");
	host.drop("/sys/class/rtrs-client/store/request_timeout");
	EXPECT_EQ(run_line(host, "session set store request-timeout=5").code, 9);
	const auto written = host.writes.size();
	Outcome o = run_line(host, "session set store policy=rr connections=2");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "connections of session store cannot change")) << o.err;
	EXPECT_EQ(host.writes.size(), written);
	EXPECT_EQ(run_line(host, "session reconnect 10.0.0.1").code, 0);
}

TEST(RnbdadmServer, CloseAndDisconnect)
{
	FakeHost host;
	host.server();
	EXPECT_EQ(run_line(host, "server close nvme0n1").code, 4);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "server close /dev/nvme0n1 beta").code, 0);
	EXPECT_EQ(host.writes.back(),
		  "/sys/class/rnbd-server/ctl/devices/nvme0n1/sessions/beta/force_close <- 1");
	EXPECT_EQ(run_line(host, "server close nvme0n1 gamma").code, 3);
	EXPECT_EQ(run_line(host, "server disconnect alpha").code, 0);
	EXPECT_EQ(run_line(host, "server show alpha").code, 0);
}

TEST(RnbdadmServer, PauseAndResume)
{
	FakeHost host;
	EXPECT_EQ(run_line(host, "server pause").code, 9);
	host.server();
	EXPECT_EQ(run_line(host, "server pause").code, 9); // no such file: modules of the kernel
	EXPECT_TRUE(host.writes.empty());
	const std::string file = "/sys/class/rnbd-server/ctl/serving";
	host.put(file, "1");
	EXPECT_EQ(run_line(host, "server pause").code, 0);
	EXPECT_EQ(host.writes.back(), file + " <- 0");
	host.put(file, "0");
	EXPECT_TRUE(has(run_line(host, "doctor").out, "rnbdadm server resume"));
	EXPECT_EQ(run_line(host, "server resume").code, 0);
	EXPECT_EQ(host.writes.back(), file + " <- 1");
	host.put(file, "1");
	EXPECT_FALSE(has(run_line(host, "doctor").out, "paused"));
	EXPECT_EQ(run_line(host, "server pause now").code, 2);
}

TEST(RnbdadmServer, Exports)
{
	FakeHost host;
	host.server();
	Outcome added = run_line(host, "server export add vm2 /dev/vg0/vm2 -a ro --client alpha");
	EXPECT_EQ(added.code, 0);
	EXPECT_TRUE(has(added.err, "/dev/vg0/vm2 does not exist now")) << added.err;
	EXPECT_EQ(host.text("/sys/kernel/config/rnbd/exports/vm2/device_path"), "/dev/vg0/vm2");
	EXPECT_EQ(host.text("/sys/kernel/config/rnbd/exports/vm2/allowed_sessions"), "alpha");
	EXPECT_EQ(host.writes.back(), "/sys/kernel/config/rnbd/exports/vm2/enable <- 1");
	EXPECT_EQ(run_line(host, "server export add vm2 /dev/vg0/vm2").code, 5);
	EXPECT_EQ(run_line(host, "server export remove vm3").code, 3);
	EXPECT_EQ(run_line(host, "server export remove vm2").code, 0);
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/vm2"));
	EXPECT_EQ(run_line(host, "server export add vm5 /dev/vg0/vm5 --address ip:10.0.0.0/24 "
				 "--address fd00:0::1/128")
		      .code,
		  0);
	EXPECT_EQ(host.text("/sys/kernel/config/rnbd/exports/vm5/allowed_addresses"),
		  "10.0.0.0/24 fd00::1");
	for (const char *wrong : {"10.0.0.300", "10.0.0.0/33", "fd00::/129", "host/24", "10.0.0.0/",
				  "/8", "10.0.0.0/-1"}) {
		Outcome o = run_words(
		    host, {"server", "export", "add", "vm6", "/dev/vg0/vm6", "--address", wrong});
		EXPECT_EQ(o.code, 2) << wrong;
		EXPECT_TRUE(has(o.err, "is no address of clients")) << o.err;
	}
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/vm6"));
	// A module without that file: what cannot be kept is not promised.
	host.errors["allowed_addresses"] = ENOENT;
	EXPECT_NE(run_line(host, "server export add vm7 /dev/vg0/vm7 --address 10.0.0.1").code, 0);
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/vm7"));
	host.errors.clear();
	// Half an export is none.
	host.errors["vm4/device_path"] = ENOENT;
	EXPECT_EQ(run_line(host, "server export add vm4 /dev/none").code, 1);
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/vm4"));
	host.drop("/sys/kernel/config/rnbd");
	EXPECT_EQ(run_line(host, "server export add vm2 /dev/vg0/vm2").code, 9);
}
