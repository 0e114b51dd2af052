// SPDX-License-Identifier: GPL-2.0
// The configuration: reading it, its mistakes, apply, diff, save.
#include "fake.hh"

#include "apply.hh"

#include <cerrno>

namespace {

const char *const kGood = R"(# what this machine uses
[defaults]
access = ro
request-timeout = 30

[session store]
path = 10.0.0.2@10.0.0.1
path = 10.0.1.2@10.0.1.1
policy = rr
no-path-timeout = 60

[device data]
session = store
device = /dev/nvme0n1
access = rw

[device vm-1]
session = store
device = /dev/vg0/vm1
no-path-timeout = -1
)";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

std::string mistakes(const std::string &text)
{
	FakeHost host;
	host.put(rnbdadm::kConfigFile, text);
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 11) << text;
	EXPECT_TRUE(host.writes.empty());
	return o.err;
}

} // namespace

TEST(RnbdadmConfig, Inheritance)
{
	FakeHost host;
	host.put(rnbdadm::kConfigFile, kGood);
	rnbdadm::Config config = rnbdadm::read_config(host);
	ASSERT_EQ(config.devices.size(), 2u);
	const auto &data = config.devices[0].request, &vm = config.devices[1].request;
	EXPECT_EQ(data.access, "rw");
	EXPECT_EQ(data.no_path_timeout, 60);
	EXPECT_EQ(vm.access, "ro");
	EXPECT_EQ(vm.no_path_timeout, -1);
	EXPECT_EQ(vm.paths.size(), 2u);
	EXPECT_EQ(config.sessions[0].settings.at("request-timeout"), "30");
	EXPECT_EQ(config.sessions[0].settings.at("policy"), "round-robin");
}

// A disk has all of its configuration from the beginning; what was opened before is changed first.
TEST(RnbdadmConfig, SettingsComeWithTheMapping)
{
	FakeHost host;
	host.client();
	host.put(rnbdadm::kConfigFile, "[defaults]\nrequest-timeout = 30\n[session new]\n"
				       "path = 10.0.0.9\npolicy = rr\nheartbeat-interval = 250\n"
				       "[device d]\nsession = new\ndevice = /dev/d\n"
				       "[device e]\nsession = new\ndevice = /dev/e\n");
	const std::string settings =
	    " heartbeat_interval_ms=250 mp_policy=round-robin request_timeout=30 owner=";
	const std::string map_device = "/sys/class/rnbd-client/ctl/map_device <- sessname=new "
				       "path=ip:10.0.0.9 device_path=/dev/";
	Outcome o = run_line(host, "apply d");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(host.writes, std::vector<std::string>{map_device + "d" + settings + "d"});
	host.writes.clear();
	host.put("/sys/class/rtrs-client/new/request_timeout", "60");
	EXPECT_EQ(run_line(host, "apply e").code, 0);
	EXPECT_EQ(host.writes,
		  (std::vector<std::string>{"/sys/class/rtrs-client/new/request_timeout <- 30",
					    map_device + "e" + settings + "e"}));
	EXPECT_EQ(run_line(host, "diff --missing-only").out, "");
}

TEST(RnbdadmConfig, FilesAreOne)
{
	FakeHost host;
	host.put("/etc/rnbd/rnbd.conf.d/10-a.conf", "[session a]\npath = 10.0.0.1");
	host.put("/etc/rnbd/rnbd.conf.d/20-b.conf", "[device d]\nsession = a\ndevice = /dev/x");
	host.put("/etc/rnbd/rnbd.conf.d/30-c.conf.dpkg-old", "nonsense");
	EXPECT_EQ(rnbdadm::read_config(host).devices.size(), 1u);
}

TEST(RnbdadmConfig, AbsentIsEmpty)
{
	FakeHost host;
	EXPECT_TRUE(rnbdadm::read_config(host).devices.empty());
	EXPECT_EQ(run_line(host, "apply").code, 0);
}

TEST(RnbdadmConfig, MistakesNameFileAndLine)
{
	struct Case {
		const char *text;
		const char *says;
	};
	const Case cases[] = {
	    {"[sesion a]\npath = 10.0.0.1",
	     "rnbd.conf:1: there is no section 'sesion', did you mean 'session'"},
	    {"[session a]\npth = 10.0.0.1",
	     "rnbd.conf:2: a session has no key 'pth', did you mean 'path'"},
	    {"[session a]\npath = 10.0.0", "rnbd.conf:2: '10.0.0' is no address"},
	    {"[session a]\npath = 10.0.0.1\nport = 0", "rnbd.conf:3: port: '0' is no whole number"},
	    {"[session a]\npath = 10.0.0.1\npolicy = x", "rnbd.conf:3: policy: 'x' is not"},
	    {"[session a]", "rnbd.conf:1: session a has no path"},
	    {"[session a.b]\npath = 10.0.0.1", "rnbd.conf:1: 'a.b' cannot be the name"},
	    {"[session a]\npath = 10.0.0.1\n[session a]\npath = 10.0.0.2",
	     "rnbd.conf:3: session a was described at"},
	    {"[device d]\nsession = a\ndevice = x", "rnbd.conf:1: there is no section [session a]"},
	    {"[device d]\ndevice = x", "rnbd.conf:1: device d does not say its session"},
	    {"[device d/e]\nsession = a\ndevice = x", "'d/e' cannot be the name of a device"},
	    {"[device d]\nsession = a\nsession = a\ndevice = x",
	     "rnbd.conf:3: session is given at"},
	    {"path = 10.0.0.1", "rnbd.conf:1: this key stands in no section"},
	    {"[session]", "rnbd.conf:1: '[session]' is not [defaults]"},
	    {"[defaults\naccess = rw", "rnbd.conf:1:"},
	    {"[defaults]\naccess", "rnbd.conf:2: 'access' is neither"},
	    {"[defaults]\naccess =", "rnbd.conf:2: access has no value"},
	    {"[defaults]\naccess = wr", "rnbd.conf:2: access 'wr' is not one of"},
	    {"[defaults]\naccess = share", "did you mean 'shared'"},
	    {"[export e]\ndevice = /dev/x\naccess = all", "rnbd.conf:3: access 'all'"},
	};
	for (const Case &c : cases) {
		std::string err = mistakes(c.text);
		EXPECT_TRUE(has(err, c.says)) << c.text << "\n" << err;
	}
	// Each mistake is told, not only the first.
	std::string err = mistakes("[session a]\npath = 1.2\n[device d]\nsession = b\ndevice = y");
	EXPECT_TRUE(has(err, ":2:") && has(err, ":3:")) << err;
}

TEST(RnbdadmConfig, AMistakeCostsItsSectionOnly)
{
	FakeHost host;
	host.client();
	host.server();
	for (int i : {0, 1})
		host.drop("/sys/block/rnbd" + std::to_string(i));
	host.drop("/sys/class/rtrs-client/store");
	std::string text = std::string(kGood) +
			   "[device late]\nsession = store\ndevice = /dev/late\nacess = ro\n"
			   "[session other]\npath = 10.0.9\n"
			   "[device far]\nsession = other\ndevice = /dev/far\n"
			   "[export e1]\ndevice = /dev/x\naddress = 10.0.0.0/40\n"
			   "[export e2]\ndevice = /dev/y\n";
	host.put(rnbdadm::kConfigFile, text);
	const std::string at = rnbdadm::kConfigFile + ":";
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 13) << o.err;
	EXPECT_EQ(o.out, "device late: faulty\ndevice far: faulty\nexport e1: faulty\n"
			 "device data: mapped\ndevice vm-1: mapped\nexport e2: exported\n");
	EXPECT_TRUE(has(o.err, at + "24: a device has no key 'acess', did you mean 'access'"))
	    << o.err;
	EXPECT_TRUE(has(o.err, at + "26: '10.0.9' is no address")) << o.err;
	EXPECT_TRUE(has(o.err, at + "27: its session other has a mistake: " + at + "26")) << o.err;
	EXPECT_TRUE(has(o.err, at + "32: '10.0.0.0/40' is no address")) << o.err;
	// A unit asks for one device: another one's mistake is not its own.
	o = run_line(host, "apply -- data");
	EXPECT_EQ(o.code, 0);
	EXPECT_EQ(o.err, "");
	o = run_line(host, "apply -- late");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.err, at + "24: ")) << o.err;
	EXPECT_FALSE(has(o.err, "10.0.9")) << o.err;
	o = run_line(host, "apply --exports");
	EXPECT_EQ(o.code, 13);
	EXPECT_FALSE(has(o.err, "acess")) << o.err;
	EXPECT_TRUE(has(o.err, "10.0.0.0/40")) << o.err;
	// What runs of a faulty section is nobody else's.
	host.put("/run/rnbd/devices/rnbd7", "store\n/dev/late\nlate");
	host.device(7, "store", "/dev/late", "ro");
	o = run_line(host, "diff");
	EXPECT_EQ(o.code, 13);
	EXPECT_FALSE(has(o.out, "late")) << o.out;
	EXPECT_EQ(run_line(host, "complete mapping").out, "data\nvm-1\n");
	// A failure beside a mistake may pass, a mistake does not.
	host.put("/sys/block/rnbd2/rnbd/access_mode", "ro");
	for (const auto &d : rnbdadm::read_devices(host))
		if (d.device_path == "/dev/nvme0n1")
			host.put(d.folder + "/access_mode", "ro");
	EXPECT_EQ(run_line(host, "apply").code, 10);
}

TEST(RnbdadmConfig, WhatDefaultsMeantIsNotGuessed)
{
	FakeHost host;
	host.client();
	for (const char *line : {"acess = ro", "access = or", "access ro"}) {
		host.put(rnbdadm::kConfigFile,
			 std::string("[defaults]\n") + line +
			     "\n[session store]\npath = 10.0.0.2@10.0.0.1\n"
			     "[device a]\nsession = store\ndevice = /dev/nvme0n1\n"
			     "[device b]\nsession = store\ndevice = /dev/nvme1n1\naccess = ro\n");
		Outcome o = run_line(host, "apply");
		EXPECT_EQ(o.code, 13) << line;
		EXPECT_EQ(o.out, "device a: faulty\ndevice b: unchanged\n") << line << o.err;
		EXPECT_TRUE(has(o.err, "rnbd.conf:5: device a has access of [defaults], where "
				       "/etc/rnbd/rnbd.conf:2 is wrong"))
		    << o.err;
	}
}

TEST(RnbdadmConfig, OfTwoTheFirstHolds)
{
	FakeHost host;
	host.client();
	host.put(rnbdadm::kConfigFile,
		 std::string(kGood) + "[device data]\nsession = store\ndevice = /dev/z\n");
	Outcome o = run_line(host, "apply data");
	EXPECT_EQ(o.code, 13);
	EXPECT_TRUE(has(o.out, "device data: changed")) << o.out;
	EXPECT_TRUE(has(o.err, "rnbd.conf:21: device data was described at")) << o.err;
}

TEST(RnbdadmConfig, CheckSaysWhere)
{
	FakeHost host;
	host.put(rnbdadm::kConfigFile, kGood);
	Outcome o = run_line(host, "check");
	EXPECT_EQ(o.code, 0);
	EXPECT_EQ(o.out, "no mistake: 1 session, 2 devices, 0 exports\n");
	host.put("/etc/rnbd/rnbd.conf.d/x.conf", "[devise x]\n[device y]\nsesion = store");
	o = run_line(host, "check");
	EXPECT_EQ(o.code, 11);
	EXPECT_EQ(o.out, "/etc/rnbd/rnbd.conf.d/x.conf:1: there is no section 'devise', did you "
			 "mean 'device'?\n/etc/rnbd/rnbd.conf.d/x.conf:3: a device has no key "
			 "'sesion', did you mean 'session'?\n");
	EXPECT_TRUE(host.writes.empty());
	o = run_line(host, "check -o csv");
	EXPECT_TRUE(has(o.out, "rnbd.conf.d/x.conf,3,device y,\"a device has no key")) << o.out;
	EXPECT_TRUE(has(run_line(host, "check -o json").out, "\"line\": 3")) << o.out;
	host.put("/tmp/draft", "[session a]");
	o = run_line(host, "check /tmp/draft");
	EXPECT_EQ(o.out, "/tmp/draft:1: session a has no path\n");
	EXPECT_EQ(run_line(host, "check /tmp/none").code, 3);
}

TEST(RnbdadmConfig, ApplyIsIdempotent)
{
	FakeHost host;
	host.client();
	for (int i : {0, 1})
		host.drop("/sys/block/rnbd" + std::to_string(i));
	host.drop("/sys/class/rtrs-client/store");
	host.put(rnbdadm::kConfigFile, kGood);
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "device data: mapped\ndevice vm-1: mapped\n");
	EXPECT_EQ(run_line(host, "diff").code, 0) << run_line(host, "diff").out;
	host.writes.clear();
	EXPECT_EQ(run_line(host, "apply").out, "device data: unchanged\ndevice vm-1: unchanged\n");
	EXPECT_TRUE(host.writes.empty());
	// Its name in the configuration is one of its names.
	EXPECT_EQ(run_line(host, "unmap vm-1").code, 0);
	EXPECT_EQ(run_line(host, "apply vm-1").out, "device vm-1: mapped\n");
	EXPECT_EQ(run_line(host, "apply vm1").code, 3);
}

TEST(RnbdadmConfig, ApplyAddsWhatIsMissing)
{
	FakeHost host;
	host.client();
	host.drop("/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1");
	host.put(rnbdadm::kConfigFile, kGood);
	Outcome o = run_line(host, "apply data");
	EXPECT_EQ(o.out, "device data: changed\n") << o.err;
	EXPECT_TRUE(host.exists("/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1"));
	EXPECT_EQ(host.text("/sys/class/rtrs-client/store/request_timeout"), "30");
}

TEST(RnbdadmConfig, OneFailureDoesNotStopTheOthers)
{
	FakeHost host;
	host.client();
	host.put("/sys/block/rnbd0/rnbd/access_mode", "ro");
	host.put(rnbdadm::kConfigFile, kGood);
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 10);
	EXPECT_EQ(o.out, "device data: failed\ndevice vm-1: mapped\n");
	EXPECT_TRUE(has(o.err, "mapped with access ro, and rw is configured")) << o.err;
}

TEST(RnbdadmConfig, DiffShowsBothSides)
{
	FakeHost host;
	host.client();
	host.put(rnbdadm::kConfigFile, kGood);
	Outcome o = run_line(host, "diff");
	EXPECT_EQ(o.code, 12);
	expect_golden("diff.txt", o.out);
	expect_golden("diff.json", run_line(host, "diff -o json").out);
}

TEST(RnbdadmConfig, ThePortIsKept)
{
	FakeHost host;
	host.client();
	const std::string port = "/sys/class/rtrs-client/store/dest_port";
	host.put(port, "4321");
	EXPECT_TRUE(has(run_line(host, "save").out, "port = 4321\n"));
	EXPECT_TRUE(has(run_line(host, "session show store").out, "4321"));
	host.put(rnbdadm::kConfigFile, kGood);
	Outcome o = run_line(host, "diff");
	EXPECT_TRUE(has(o.out, "port")) << o.out;
	// The session may be with another server.
	o = run_line(host, "apply data");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "session store is with port 4321, and 1234 is configured")) << o.err;
	// Modules of the kernel do not tell it, the configuration does.
	host.drop(port);
	host.put(rnbdadm::kConfigFile, "[session store]\npath = 10.0.0.1\nport = 77");
	EXPECT_TRUE(has(run_line(host, "save").out, "port = 77\n"));
}

TEST(RnbdadmConfig, ProofsAreKept)
{
	FakeHost host;
	host.client();
	const std::string store = "/sys/class/rtrs-client/store/";
	host.put(store + "auth", "required");
	host.put(store + "key", "client7");
	EXPECT_TRUE(has(run_line(host, "save").out, "auth = required\nkey = client7\n"));
	host.put(rnbdadm::kConfigFile, kGood);
	EXPECT_TRUE(has(run_line(host, "diff").out, "client7"));
	// What is open with a proof is not taken for what is configured without.
	Outcome o = run_line(host, "apply data");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "session store is open with another auth or key")) << o.err;
	for (const char *bad : {"auth = always", "key = a/b", "auth = off\nkey = a"}) {
		host.put(rnbdadm::kConfigFile,
			 std::string("[session x]\npath = 10.0.0.1\n") + bad +
			     "\n[device d]\nsession = x\ndevice = /dev/sda\n");
		EXPECT_NE(run_line(host, "check").code, 0) << bad;
	}
}

TEST(RnbdadmConfig, WhatIsSavedAppliesToItself)
{
	FakeHost host;
	host.client();
	host.server();
	EXPECT_EQ(run_line(host, "save --file /etc/rnbd/rnbd.conf").code, 1);
	host.put("/etc/rnbd/60-rnbd.rules", "");
	EXPECT_EQ(run_line(host, "save --file /etc/rnbd/rnbd.conf").code, 0);
	expect_golden("save.txt", host.text("/etc/rnbd/rnbd.conf") + "\n");
	EXPECT_EQ(run_line(host, "save --file /etc/rnbd/rnbd.conf").code, 5);
	Outcome o = run_line(host, "diff");
	EXPECT_EQ(o.code, 0) << o.out << o.err;
	EXPECT_EQ(run_line(host, "apply").out,
		  "device nvme0n1: unchanged\ndevice nvme1n1: unchanged\nexport vm1: unchanged\n");
}

TEST(RnbdadmConfig, Exports)
{
	FakeHost host;
	host.server();
	host.put(rnbdadm::kConfigFile, "[export vm2]\ndevice = /dev/vg0/vm2\nclient = alpha\n"
				       "[export vm1]\ndevice = /dev/other");
	Outcome o = run_line(host, "apply --exports");
	EXPECT_EQ(o.code, 10);
	EXPECT_EQ(o.out, "export vm2: exported\nexport vm1: failed\n");
	EXPECT_TRUE(has(o.err, "has the device /dev/vg0/vm1, and /dev/other is configured"))
	    << o.err;
}

TEST(RnbdadmConfig, RulesOfExportsChangeInPlace)
{
	FakeHost host;
	host.server();
	std::string config = "[export vm1]\ndevice = /dev/vg0/vm1\naccess = ro\nclient = beta\n"
			     "client = alpha\naddress = ip:10.0.0.0/30\naddress = fd00:0::3/128\n";
	host.put(rnbdadm::kConfigFile, config);
	Outcome o = run_line(host, "diff");
	EXPECT_EQ(o.code, 12);
	EXPECT_TRUE(has(o.out, "10.0.0.0/30 fd00::3")) << o.out;
	EXPECT_FALSE(has(o.out, "alpha")) << o.out;
	EXPECT_EQ(run_line(host, "apply --exports").out, "export vm1: changed\n");
	std::string folder = "/sys/kernel/config/rnbd/exports/vm1/";
	EXPECT_EQ(host.writes,
		  (std::vector<std::string>{folder + "access <- ro",
					    folder + "allowed_addresses <- 10.0.0.0/30 fd00::3"}));
	EXPECT_EQ(run_line(host, "apply --exports").out, "export vm1: unchanged\n");
	Outcome saved = run_line(host, "save");
	EXPECT_TRUE(has(saved.out, "address = 10.0.0.0/30\naddress = fd00::3\n")) << saved.out;
	// An empty list takes the rule away; a module without the file has none to differ.
	host.put(rnbdadm::kConfigFile,
		 "[export vm1]\ndevice = /dev/vg0/vm1\nclient = beta\nclient = alpha\n");
	EXPECT_EQ(run_line(host, "apply --exports").out, "export vm1: changed\n");
	EXPECT_EQ(host.text(folder + "allowed_addresses"), "");
	host.drop(folder + "allowed_addresses");
	EXPECT_EQ(run_line(host, "apply --exports").out, "export vm1: unchanged\n");
	host.put(rnbdadm::kConfigFile, config);
	o = run_line(host, "apply --exports");
	EXPECT_TRUE(has(o.err, "no rule 'address' for export vm1")) << o.err;
	host.put(rnbdadm::kConfigFile,
		 "[export vm1]\ndevice = /dev/vg0/vm1\naddress = 10.0.0.0/40\n");
	o = run_line(host, "apply --exports");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.err, "rnbd.conf:3")) << o.err;
}

TEST(RnbdadmConfig, PathsAreComparedByTheirNumbers)
{
	using rnbdadm::comparable_path;
	EXPECT_EQ(comparable_path("ip:fd00:0::1"), comparable_path("fd00::1"));
	EXPECT_EQ(comparable_path("10.0.0.1,10.0.0.2"), comparable_path("ip:10.0.0.1@ip:10.0.0.2"));
	EXPECT_NE(comparable_path("gid:fe80::1"), comparable_path("ip:fe80::1"));
	EXPECT_EQ(comparable_path("FE80:0::2%eth0@fe80::1%1"), "ip:fe80::2%eth0@ip:fe80::1%lo");
}

// Two ports of a machine may have one link-local address, and the servers behind them, too.
TEST(RnbdadmConfig, ALinkLocalPathIsThatOfItsZone)
{
	rnbdadm::Path path;
	path.source = "ip:fe80::2%eth0";
	path.destination = "ip:fe80::1%eth0";
	for (const char *same : {"fe80::2%eth0@fe80::1%eth0", "FE80:0::1%eth0"})
		EXPECT_TRUE(rnbdadm::same_path(same, path)) << same;
	for (const char *other :
	     {"fe80::2%eth1@fe80::1%eth1", "fe80::1%eth1", "fe80::1", "fe80::3%eth0@fe80::1%eth0"})
		EXPECT_FALSE(rnbdadm::same_path(other, path)) << other;
	// As the kernel's own module shows it.
	path.source = "ip:fe80::2";
	path.destination = "ip:fe80::1";
	for (const char *same : {"fe80::2%eth0@fe80::1%eth0", "fe80::1%eth1", "fe80::1"})
		EXPECT_TRUE(rnbdadm::same_path(same, path)) << same;
	EXPECT_FALSE(rnbdadm::same_path("fe80::3%eth0@fe80::1%eth0", path));
}

TEST(RnbdadmConfig, ALinkLocalPathIsAppliedOnceAndSavedWithItsZone)
{
	FakeHost host;
	host.client();
	host.session("six");
	host.path("six", "ip:fe80::2%eth0", "ip:fe80::1%eth0", "mlx5_0", "connected");
	host.put(rnbdadm::kConfigFile, "[session six]\npath = fe80::2%eth0@FE80:0::1%eth0\n");
	Outcome o = run_line(host, "diff");
	EXPECT_FALSE(has(o.out, "fe80")) << o.out;
	EXPECT_EQ(run_line(host, "apply").code, 0);
	EXPECT_FALSE(std::any_of(host.writes.begin(), host.writes.end(),
				 [](const std::string &w) { return has(w, "fe80"); }));
	o = run_line(host, "save");
	EXPECT_TRUE(has(o.out, "path = ip:fe80::2%eth0@ip:fe80::1%eth0\n")) << o.out;
}

TEST(RnbdadmConfig, UnitsForSystemd)
{
	FakeHost host;
	host.put(rnbdadm::kConfigFile, kGood);
	EXPECT_EQ(run_line(host, "generate units /run/units").code, 0);
	EXPECT_TRUE(host.exists("/run/units/rnbd-client.target.wants/rnbd@vm-1.service"));
	// A mistake keeps no other device away, and its own unit is there to say it.
	host.put(rnbdadm::kConfigFile, std::string(kGood) + "[device x]\nsesion = store\n");
	Outcome o = run_line(host, "generate units /run/other");
	EXPECT_EQ(o.code, 13);
	EXPECT_TRUE(has(o.err, "rnbd.conf:22: a device has no key 'sesion'")) << o.err;
	for (const char *name : {"data", "vm-1", "x"})
		EXPECT_TRUE(host.exists(
		    fmt::format("/run/other/rnbd-client.target.wants/rnbd@{}.service", name)));
	host.put(rnbdadm::kConfigFile, "[devise x]");
	EXPECT_EQ(run_line(host, "generate units /run/third").code, 11);
}

TEST(RnbdadmConfig, CompletionKnowsTheNames)
{
	FakeHost host;
	host.client();
	host.put(rnbdadm::kConfigFile, kGood);
	EXPECT_EQ(run_line(host, "complete mapping").out, "data\nvm-1\n");
	EXPECT_EQ(run_line(host, "complete session").out, "store\n");
	EXPECT_TRUE(has(run_line(host, "complete device|session").out, "rnbd0\n"));
}
