// SPDX-License-Identifier: GPL-2.0
// Exports by name: looked at, changed, switched off and on.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

const std::string kFolder = "/sys/kernel/config/rnbd/exports/vm1/";

} // namespace

TEST(RnbdadmExport, Show)
{
	FakeHost host;
	host.server();
	Outcome o = run_line(host, "server export show vm1");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(o.out, "clients:     alpha beta\n")) << o.out;
	EXPECT_TRUE(has(run_line(host, "server export show vm1 -o json").out, "\"export\""));
	o = run_line(host, "server export show vm2");
	EXPECT_EQ(o.code, 3);
	EXPECT_TRUE(has(o.err, "did you mean 'vm1'")) << o.err;
}

TEST(RnbdadmExport, SetChangesWhatIsNamed)
{
	FakeHost host;
	host.server();
	EXPECT_EQ(run_line(host, "server export set vm1 --access ro").code, 0);
	EXPECT_EQ(host.writes, std::vector<std::string>{kFolder + "access <- ro"});
	host.writes.clear();
	EXPECT_EQ(
	    run_line(host, "server export set vm1 --client beta --client c* --any-address").code,
	    0);
	EXPECT_EQ(host.writes, (std::vector<std::string>{kFolder + "allowed_sessions <- beta c*",
							 kFolder + "allowed_addresses <- "}));
	host.writes.clear();
	EXPECT_EQ(run_line(host, "server export set vm1 --key web-1 --key backup*:ro").code, 0);
	EXPECT_EQ(host.writes,
		  std::vector<std::string>{kFolder + "allowed_keys <- backup*:ro web-1"});
	for (const char *bad : {":ro", "a:rw", "a:ro:ro", "a:1"})
		EXPECT_EQ(run_line(host, std::string("server export set vm1 --key ") + bad).code, 2)
		    << bad;
	EXPECT_EQ(run_line(host, "server export set vm1 --any-key").code, 0);
	host.writes.clear();
	EXPECT_EQ(run_line(host, "server export set vm1 --address 10.0.0.0/8 --any-client").code,
		  0);
	EXPECT_EQ(host.writes,
		  (std::vector<std::string>{kFolder + "allowed_addresses <- 10.0.0.0/8",
					    kFolder + "allowed_sessions <- "}));
	host.writes.clear();
	EXPECT_EQ(run_line(host, "server export set vm1 --address 10.0.0.0/8").code, 0);
	EXPECT_EQ(run_line(host, "server export set vm1 --access shared").code, 0);
	EXPECT_EQ(host.writes, std::vector<std::string>{kFolder + "access <- shared"});
	EXPECT_TRUE(has(run_line(host, "server export show vm1").out, "shared\n"));
	EXPECT_EQ(run_line(host, "server export set vm1 --access ro").code, 0);
	host.writes.clear();
	// A disabled one stays so.
	host.put(kFolder + "enable", "0");
	EXPECT_EQ(run_line(host, "server export set vm1 --access ro").code, 0);
	EXPECT_TRUE(host.writes.empty());
	for (const char *line :
	     {"", " --access wr", " --client a --any-client", " --address 10.0.0",
	      " --address 10.0.0.1 --any-address", " --client="}) {
		Outcome o = run_line(host, std::string("server export set vm1") + line);
		EXPECT_EQ(o.code, 2) << line << o.err;
	}
	EXPECT_EQ(run_line(host, "server export set vm2 --access ro").code, 3);
	EXPECT_TRUE(host.writes.empty());
	host.drop(kFolder + "allowed_addresses");
	EXPECT_EQ(run_line(host, "server export set vm1 --address 10.0.0.1").code, 9);
}

TEST(RnbdadmExport, Keys)
{
	FakeHost host;
	host.server();
	EXPECT_TRUE(has(run_line(host, "server export show vm1").out, "keys:        -\n"));
	EXPECT_EQ(run_line(host, "server export set vm1 --key client7 --key web-*").code, 0);
	EXPECT_EQ(host.writes, std::vector<std::string>{kFolder + "allowed_keys <- client7 web-*"});
	EXPECT_TRUE(
	    has(run_line(host, "server export show vm1").out, "keys:        client7 web-*\n"));
	EXPECT_TRUE(has(run_line(host, "save").out, "key = client7\nkey = web-*\naddress"));
	host.writes.clear();
	EXPECT_EQ(run_line(host, "server export set vm1 --any-key").code, 0);
	EXPECT_EQ(host.writes, std::vector<std::string>{kFolder + "allowed_keys <- "});
	for (const char *line : {"set vm1 --key a --any-key", "set vm1 --key a/b",
				 "set vm1 --key=", "set vm1 --key a*b", "add vm2 /dev/x --key -a"})
		EXPECT_EQ(run_line(host, std::string("server export ") + line).code, 2) << line;
	host.writes.clear();
	EXPECT_EQ(run_line(host, "server export add vm2 /dev/x --key *").code, 0);
	EXPECT_EQ(host.text("/sys/kernel/config/rnbd/exports/vm2/allowed_keys"), "*");
	// An older module has no such rule, which matters to who asks for it.
	host.drop(kFolder + "allowed_keys");
	EXPECT_EQ(run_line(host, "server export set vm1 --access ro").code, 0);
	EXPECT_EQ(run_line(host, "server export set vm1 --key a").code, 9);
}

// Whoever may use it neither before nor after a change does not get in during it.
TEST(RnbdadmExport, NarrowFirst)
{
	struct Row {
		const char *access, *clients, *keys; // before
		const char *options;
		std::vector<std::string> writes;
	};
	const Row rows[] = {
	    // The list of clients is wider, that of keys narrower, whatever their order.
	    {"rw",
	     "a",
	     "k l",
	     "--any-client --key k",
	     {"allowed_keys <- k", "allowed_sessions <- "}},
	    {"ro", "", "", "--access rw --key k", {"allowed_keys <- k", "access <- rw"}},
	    // Some go, others come.
	    {"rw",
	     "a b",
	     "k",
	     "--client b --client c --any-key",
	     {"allowed_sessions <- b c", "allowed_keys <- "}},
	    {"rw",
	     "a b",
	     "k l",
	     "--client b --client c --key l --key m",
	     {"allowed_sessions <- b", "allowed_keys <- l", "allowed_sessions <- b c",
	      "allowed_keys <- l m"}},
	    {"rw", "a", "k", "--client b --any-key", {"allowed_sessions <- b", "allowed_keys <- "}},
	    {"rw",
	     "a",
	     "k",
	     "--client b --key l",
	     {"enable <- 0", "allowed_sessions <- b", "allowed_keys <- l", "enable <- 1"}},
	};
	for (const Row &row : rows) {
		FakeHost host;
		host.server();
		host.put(kFolder + "access", row.access);
		host.put(kFolder + "allowed_sessions", row.clients);
		host.put(kFolder + "allowed_keys", row.keys);
		host.put(kFolder + "enable", "1");
		host.writes.clear();
		Outcome o = run_line(host, std::string("server export set vm1 ") + row.options);
		EXPECT_EQ(o.code, 0) << o.err;
		std::vector<std::string> want;
		for (const std::string &line : row.writes)
			want.push_back(kFolder + line);
		EXPECT_EQ(host.writes, want) << row.options;
	}
}

TEST(RnbdadmExport, KeysOfTheConfiguration)
{
	FakeHost host;
	host.server();
	const std::string rest = "device = /dev/vg0/vm1\nclient = alpha\nclient = beta\naddress = "
				 "10.0.0.0/30\naddress = fd00::2\n";
	host.put("/etc/rnbd/rnbd.conf", "[export vm1]\n" + rest);
	EXPECT_EQ(run_line(host, "diff").out, "");
	host.put("/etc/rnbd/rnbd.conf", "[export vm1]\nkey = a\nkey = b*\n" + rest);
	EXPECT_EQ(run_line(host, "diff --no-header").out, "export vm1  key  a b*  -\n");
	EXPECT_EQ(run_line(host, "apply").out, "export vm1: changed\n");
	EXPECT_EQ(host.text(kFolder + "allowed_keys"), "a b*");
	EXPECT_EQ(run_line(host, "apply").out, "export vm1: unchanged\n");
	host.drop(kFolder + "allowed_keys");
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "has no rule 'key'")) << o.err;
	host.put("/etc/rnbd/rnbd.conf", "[export vm1]\n" + rest);
	EXPECT_EQ(run_line(host, "diff").out, "");
	EXPECT_EQ(run_line(host, "apply").out, "export vm1: unchanged\n");
	host.put("/etc/rnbd/rnbd.conf", "[export vm1]\nkey = a/b\n" + rest);
	EXPECT_TRUE(has(run_line(host, "check").out, "rnbd.conf:2: 'a/b' is no name of a key"));
}

// Who may use what without a proof.
TEST(RnbdadmExport, DoctorSaysWhatIsOpen)
{
	FakeHost host;
	host.server();
	const std::string open = "export vm1: every machine that reaches this one can use it";
	const std::string all = "can use all of its block devices, not just the exports";
	std::string out = run_line(host, "doctor").out;
	EXPECT_TRUE(has(out, "every machine that reaches this one " + all)) << out;
	EXPECT_TRUE(has(out, "need not prove who it is")) << out;
	EXPECT_FALSE(has(out, open)) << out;
	host.put("/sys/module/rnbd_server/parameters/exports_only", "Y");
	host.put(kFolder + "allowed_addresses", "");
	out = run_line(host, "doctor").out;
	EXPECT_FALSE(has(out, all)) << out;
	EXPECT_TRUE(has(out, open)) << out;
	host.put(kFolder + "allowed_keys", "*");
	EXPECT_FALSE(has(run_line(host, "doctor").out, open));
	host.put(kFolder + "allowed_keys", "");
	host.put("/sys/module/rtrs_server/parameters/auth", "required");
	EXPECT_FALSE(has(run_line(host, "doctor").out, open));
	host.put("/sys/module/rnbd_server/parameters/exports_only", "N");
	EXPECT_TRUE(has(run_line(host, "doctor").out, "every machine with a key " + all));
}

TEST(RnbdadmExport, EnableAndDisable)
{
	FakeHost host;
	host.server();
	// A session has it open.
	Outcome o = run_line(host, "server export disable vm1");
	EXPECT_EQ(o.code, 6);
	EXPECT_TRUE(has(o.err, "--force")) << o.err;
	EXPECT_EQ(run_line(host, "server export enable vm1").code, 0);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "server export disable vm1 --force").code, 0);
	EXPECT_EQ(host.text(kFolder + "enable"), "0");
	EXPECT_EQ(run_line(host, "server export enable vm1").code, 0);
	EXPECT_EQ(host.text(kFolder + "enable"), "1");
	host.put(kFolder + "users", "0");
	EXPECT_EQ(run_line(host, "server export disable vm1").code, 0);
	EXPECT_EQ(run_line(host, "server export disable vm1 vm2").code, 10);
	host.drop(kFolder + "enable");
	EXPECT_EQ(run_line(host, "server export disable vm1").code, 9);
}

TEST(RnbdadmExport, ForEveryoneIsSaid)
{
	FakeHost host;
	host.server();
	host.put(kFolder + "allowed_sessions", "");
	host.drop(kFolder + "allowed_addresses");
	Outcome o = run_line(host, "list exports -c clients,addresses --no-header");
	EXPECT_EQ(o.out, "any  any\n");
	EXPECT_TRUE(has(run_line(host, "server export show vm1").out, "clients:     any\n"));
	EXPECT_EQ(run_line(host, "list exports -c clients,addresses --no-header -o csv").out,
		  ",\n");
	EXPECT_TRUE(has(run_line(host, "list exports -o json").out, "\"clients\": \"\""));
}

TEST(RnbdadmExport, DoctorSaysWhatTheyKeep)
{
	FakeHost host;
	host.server();
	EXPECT_TRUE(has(run_line(host, "doctor").out,
			"exports: 1 by name; while there is one, rnbd_server cannot be unloaded"));
}

// The kernel takes addresses: all that the name has, as a client may come from any of them.
TEST(RnbdadmExport, AddressesByTheNameOfAMachine)
{
	FakeHost host;
	host.server();
	host.put("/sys/module/rnbd_server/parameters/exports_only", "Y");
	host.machines = {{"host7", {"fd00::7", "10.0.0.7"}}, {"host8.example.org", {"10.0.0.8"}}};
	Outcome o = run_line(host, "server export add data /dev/sda --address host7 --address "
				   "10.1.0.0/16 --dry-run");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(o.out, "write 'fd00::7 10.0.0.7 10.1.0.0/16' to ")) << o.out;
	EXPECT_EQ(o.err, "host7 is fd00::7 10.0.0.7\n"
			 "/dev/sda does not exist now: clients cannot use the export before it "
			 "does\n");
	EXPECT_EQ(run_line(host, "server export set vm1 --address host8.example.org").code, 0);
	EXPECT_EQ(host.text("/sys/kernel/config/rnbd/exports/vm1/allowed_addresses"), "10.0.0.8");
	// No address is no rule, and that would be for everybody.
	host.writes.clear();
	for (const char *line : {"server export add x /dev/sda --address nobody",
				 "server export set vm1 --address nobody"}) {
		o = run_line(host, line);
		EXPECT_EQ(o.code, 3) << line;
		EXPECT_TRUE(has(o.err, "the name 'nobody' has no address")) << o.err;
	}
	for (const char *word : {"host7/24", "10.0.0", "a_b"})
		EXPECT_EQ(
		    run_line(host, std::string("server export set vm1 --address ") + word).code, 2)
		    << word;
	EXPECT_TRUE(host.writes.empty());
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/x"));
}

TEST(RnbdadmExport, AddressesByNameInTheConfiguration)
{
	FakeHost host;
	host.server();
	host.drop("/sys/kernel/config/rnbd/exports/vm1");
	host.machines = {{"host7", {"10.0.0.7", "fd00::7"}}};
	host.put("/etc/rnbd/rnbd.conf", "[export data]\ndevice = /dev/sda\naddress = host7\n"
					"address = 10.0.1.0/24\n[export more]\ndevice = /dev/sdb\n"
					"address = nobody\n");
	EXPECT_EQ(run_line(host, "check").code, 0);
	EXPECT_EQ(host.asked.size(), 0u);
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 10) << o.err;
	EXPECT_EQ(o.out, "export data: exported\nexport more: failed\n");
	EXPECT_TRUE(has(o.err, "export more: the name 'nobody' has no address")) << o.err;
	const std::string rules = "/sys/kernel/config/rnbd/exports/data/allowed_addresses";
	EXPECT_EQ(host.text(rules), "10.0.0.7 fd00::7 10.0.1.0/24");
	EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/more"));
	host.machines["nobody"] = {"10.0.9.9"};
	EXPECT_EQ(run_line(host, "apply").code, 0);
	EXPECT_EQ(run_line(host, "diff").out, "");
	// The machine has another address since; a reload of the unit takes it.
	host.machines["host7"] = {"10.0.0.17"};
	o = run_line(host, "diff -o csv --no-header");
	EXPECT_EQ(o.out,
		  "export data,address,10.0.0.17 10.0.1.0/24,10.0.0.7 10.0.1.0/24 fd00::7\n");
	EXPECT_EQ(run_line(host, "apply --exports").out,
		  "export data: changed\nexport more: unchanged\n");
	EXPECT_EQ(host.text(rules), "10.0.0.17 10.0.1.0/24");
	// What runs is not touched while nobody knows the name, and the difference says so.
	host.machines.erase("host7");
	o = run_line(host, "diff");
	EXPECT_EQ(o.code, 12);
	EXPECT_TRUE(has(o.out, "the name 'host7' has no address")) << o.out;
	EXPECT_EQ(run_line(host, "apply").code, 10);
	EXPECT_EQ(host.text(rules), "10.0.0.17 10.0.1.0/24");
	// A mistake is one without a resolver.
	host.put("/etc/rnbd/rnbd.conf", "[export data]\ndevice = /dev/sda\naddress = host7/24\n");
	o = run_line(host, "check");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.out, "rnbd.conf:3: 'host7/24' is no address of clients")) << o.out;
}

// What this machine uses is not exported without a word, and the word says by what.
TEST(RnbdadmExport, LocalUsers)
{
	FakeHost host;
	host.server();
	host.put("/sys/block/sdb/dev", "8:16");
	host.put("/sys/block/sdb/sdb1/dev", "8:17");
	host.put("/sys/block/sdb/sdb1/partition", "1");
	host.put("/sys/block/dm-4/dm/name", "vg0-data");
	EXPECT_EQ(run_line(host, "server export add a /dev/sdb --dry-run").code, 0);
	const struct {
		const char *mounts, *swaps, *holder, *device, *words;
	} cases[] = {
	    {"30 1 8:16 / /srv rw - ext4 /dev/sdb rw", "", "", "/dev/sdb", "mounted on /srv"},
	    {"30 1 8:17 / /srv rw - ext4 /dev/sdb1 rw", "", "", "/dev/sdb", "mounted on /srv"},
	    {"30 1 0:41 /@ /srv rw - btrfs /dev/sdb1 rw", "", "", "/dev/sdb", "mounted on /srv"},
	    {"30 1 8:16 / /srv rw - ext4 /dev/sdb rw", "", "", "/dev/sdb1", "mounted on /srv"},
	    {"", "/dev/sdb1 partition 1 0 -2", "", "/dev/sdb", "swap"},
	    {"", "", "sdb/sdb1/holders/dm-4", "/dev/sdb1", "held by vg0-data"},
	    {"", "", "sdb/holders/md127", "/dev/sdb", "held by md127"},
	};
	for (const auto &c : cases) {
		host.put("/proc/self/mountinfo", c.mounts);
		host.put("/proc/swaps", c.swaps);
		if (*c.holder)
			host.put(std::string("/sys/block/") + c.holder + "/dev", "253:4");
		host.writes.clear();
		const std::string add = std::string("server export add a ") + c.device;
		Outcome o = run_line(host, add);
		EXPECT_NE(o.code, 0);
		EXPECT_TRUE(has(o.err, c.words)) << o.err;
		EXPECT_TRUE(host.writes.empty());
		o = run_line(host, add + " --local-use shared --dry-run");
		EXPECT_EQ(o.code, 0) << o.err;
		EXPECT_TRUE(has(o.out, "shared")) << o.out;
		host.put("/etc/rnbd/rnbd.conf", std::string("[export a]\ndevice = ") + c.device);
		o = run_line(host, "check");
		EXPECT_EQ(o.code, 0) << o.out;
		EXPECT_TRUE(has(o.err, c.words)) << o.err;
		host.put("/sys/kernel/config/rnbd/exports/vm1/device_path", c.device);
		EXPECT_TRUE(has(run_line(host, "doctor").out, c.words));
		host.drop("/sys/block/sdb/holders");
		host.drop("/sys/block/sdb/sdb1/holders");
	}
}

TEST(RnbdadmExport, LocalUse)
{
	FakeHost host;
	host.server();
	EXPECT_EQ(run_line(host, "server export set vm1 --local-use shared").code, 0);
	EXPECT_EQ(host.writes, std::vector<std::string>{kFolder + "local_use <- shared"});
	EXPECT_TRUE(has(run_line(host, "save").out, "local-use = shared"));
	EXPECT_EQ(run_line(host, "server export set vm1 --local-use both").code, 2);
	host.put("/etc/rnbd/rnbd.conf", "[export vm1]\ndevice = /dev/vg0/vm1\nlocal-use = both");
	EXPECT_NE(run_line(host, "check").code, 0);
	host.put("/etc/rnbd/rnbd.conf",
		 "[export vm1]\ndevice = /dev/vg0/vm1\nlocal-use = exclusive");
	EXPECT_TRUE(has(run_line(host, "diff").out, "local-use"));
}

// What keeps clients from an export, and what its rules say to one of them.
TEST(RnbdadmExport, Explain)
{
	FakeHost host;
	host.server();
	host.put("/dev/vg0/vm1", "");
	host.disks.push_back("/dev/vg0/vm1");
	host.put("/sys/module/rnbd_server/parameters/exports_only", "Y");
	const auto explain = [&](const std::string &more, int code) {
		const Outcome o = run_line(host, "server export explain vm1" + more);
		EXPECT_EQ(o.code, code) << more << "\n" << o.out << o.err;
		return o.out;
	};
	EXPECT_TRUE(has(explain("", 0), "export vm1: rw, open by 1 sessions"));
	host.put("/sys/class/rnbd-server/ctl/devices/mapper!vm/sessions/alpha/mapping_path", "vm1");
	EXPECT_TRUE(
	    has(explain("", 0), "session alpha: has it open, rw; from ip:10.0.0.2 by mlx5_0"));
	host.put(kFolder + "denied", "3");
	EXPECT_TRUE(has(explain("", 0), "refusals: 3 times"));

	const std::string good = " --session alpha --from 10.0.0.2";
	EXPECT_TRUE(has(explain(good, 0), "client: it may ask for rw at the most"));
	EXPECT_TRUE(has(explain(" --session gamma", 12), "session gamma is none of: alpha beta"));
	EXPECT_TRUE(
	    has(explain(" --from 10.0.0.4", 12), "10.0.0.4 is none of: 10.0.0.0/30 fd00::2"));
	EXPECT_TRUE(has(explain(" --from fd00::2", 0), "at the most"));
	EXPECT_TRUE(has(explain(" --from ::ffff:10.0.0.1", 0), "at the most"));
	EXPECT_EQ(run_line(host, "server export explain vm1 --from 10.0.0").code, 2);
	host.put(kFolder + "allowed_keys", "web-* backup:ro");
	EXPECT_TRUE(has(explain(good, 12), "it has to prove one of: web-* backup:ro"));
	EXPECT_TRUE(has(explain(good + " --key other", 12), "key other is none of"));
	EXPECT_TRUE(has(explain(good + " --key backup", 12), "it may ask for ro at the most"))
	    << "the key that is not there is a problem of its own";

	host.put(kFolder + "allowed_keys", "");
	host.put("/sys/module/rtrs_server/parameters/listen", "10.0.0.1");
	EXPECT_TRUE(has(explain("", 0), "listens on port 1234 of 10.0.0.1"));
	host.put(kFolder + "local_use", "shared");
	host.put(kFolder + "enable", "0");
	EXPECT_TRUE(has(explain("", 12), "disabled: no client can open it"));
	host.put(kFolder + "enable", "1");
	host.put("/sys/module/rnbd_server/parameters/exports_only", "N");
	EXPECT_TRUE(has(explain("", 12), "clients can open /dev/vg0/vm1 by its path"));
	host.put("/sys/module/rnbd_server/parameters/exports_only", "Y");
	host.disks.clear();
	EXPECT_TRUE(has(explain("", 12), "/dev/vg0/vm1 is no block device"));
	host.drop("/dev/vg0/vm1");
	EXPECT_TRUE(has(explain("", 12), "/dev/vg0/vm1 is not there"));
	host.put("/sys/class/rnbd-server/ctl/serving", "0");
	EXPECT_TRUE(has(explain("", 12), "the server is paused"));
}
