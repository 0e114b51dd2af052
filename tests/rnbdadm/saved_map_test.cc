// SPDX-License-Identifier: GPL-2.0
// map --save and unmap --save: disks that come into the configuration and go from there.
#include "fake.hh"

#include <cerrno>
#include <fstream>

#include <unistd.h>

namespace {

const std::string kFile = "/etc/rnbd/rnbd.conf";
const std::string kMap = "/sys/class/rnbd-client/ctl/map_device";

const std::string kText = R"(# Of this machine.

[session store]   ; the big one
# two cables
path = 10.0.0.2@10.0.0.1
path = 10.0.1.2@10.0.1.1

# The database. Ask Eve before it goes.
[device data]
session = store
device = /dev/nvme0n1
# no-path-timeout = 7

[defaults]
request-timeout = 60
# The end.
)";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmSave : public testing::Test {
protected:
	RnbdadmSave() { host.client(); }

	void configure(const std::string &text, const std::string &file = kFile)
	{
		fs::create_directories(fs::path(host.place(file)).parent_path());
		std::ofstream(host.place(file)) << text;
	}
	// Byte by byte; "none" if there is no such file.
	std::string content(const std::string &file = kFile)
	{
		std::ifstream stream(host.place(file));
		std::ostringstream text;
		text << stream.rdbuf();
		return stream ? text.str() : "none";
	}
	// As after a start: nothing is mapped.
	void restart()
	{
		for (int i = 0; i < 9; i++)
			host.drop("/sys/block/rnbd" + std::to_string(i));
		for (const char *name : {"store", "new"})
			host.drop(std::string("/sys/class/rtrs-client/") + name);
		host.writes.clear();
	}

	FakeHost host;
};

const std::string kGood =
    rnbdadm::replace_all(kText, "[session store]   ; the big one", "[session store]");

} // namespace

TEST_F(RnbdadmSave, CommentsAndOrderStay)
{
	configure(kGood);
	Outcome o = run_line(host, "map /dev/vg0/vm1 -s store -a ro --no-path-timeout 30 --save");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "/dev/rnbd2\n");
	EXPECT_EQ(content(), kGood + "\n[device vm1]\nsession = store\ndevice = /dev/vg0/vm1\n"
				     "access = ro\nno-path-timeout = 30\n");
	// It is the one of the configuration from the beginning.
	ASSERT_EQ(host.writes.size(), 1u);
	EXPECT_TRUE(host.writes[0].ends_with("owner=vm1")) << host.writes[0];
	EXPECT_EQ(run_line(host, "apply vm1").out, "device vm1: unchanged\n");
	EXPECT_EQ(run_line(host, "unmap vm1 --save").code, 0);
	EXPECT_EQ(content(), kGood);
}

TEST_F(RnbdadmSave, ComesBackAsItWas)
{
	Outcome o = run_line(host, "map /dev/sda -s new -p 10.0.0.2,10.0.0.9 -p 10.0.1.9 --key c7 "
				   "--port 4321 --policy rr --poll-queues 2 --save");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(content(), "[session new]\npath = 10.0.0.2,10.0.0.9\npath = 10.0.1.9\n"
			     "port = 4321\nkey = c7\npolicy = round-robin\n\n"
			     "[device sda]\nsession = new\ndevice = /dev/sda\npoll-queues = 2\n");
	const std::vector<std::string> mapped = host.writes;
	ASSERT_EQ(mapped.size(), 1u);
	restart();
	EXPECT_EQ(run_line(host, "apply").out, "device sda: mapped\n");
	EXPECT_EQ(host.writes, mapped);
	EXPECT_EQ(run_line(host, "unmap sda --save").code, 0);
	EXPECT_EQ(content(), "");
}

TEST_F(RnbdadmSave, ASecondOneChangesNothing)
{
	configure(kGood);
	const std::string line = "map /dev/vg0/vm1 -s store --no-path-timeout 30 --save";
	EXPECT_EQ(run_line(host, line).code, 0);
	const std::string saved = content();
	const auto written = fs::last_write_time(host.place(kFile));
	fs::last_write_time(host.place(kFile), written - std::chrono::hours(1));
	host.writes.clear();
	Outcome o = run_line(host, line);
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "/dev/rnbd2\n");
	EXPECT_EQ(content(), saved);
	EXPECT_EQ(fs::last_write_time(host.place(kFile)), written - std::chrono::hours(1));
	EXPECT_TRUE(host.writes.empty());
	// Without --save it is there already, as ever.
	EXPECT_EQ(run_line(host, "map /dev/vg0/vm1 -s store").code, 5);
}

TEST_F(RnbdadmSave, ASessionOfTheConfigurationGetsIt)
{
	configure("[defaults]\naccess = ro\n[session new]\npath = 10.0.0.9\nkey = k1\n"
		  "no-path-timeout = 60\n");
	Outcome o = run_line(host, "map /dev/vg0/sda -s new --save");
	EXPECT_EQ(o.code, 0) << o.err;
	ASSERT_FALSE(host.writes.empty());
	EXPECT_EQ(host.writes[0], kMap + " <- sessname=new path=ip:10.0.0.9 "
					 "device_path=/dev/vg0/sda access_mode=ro "
					 "no_path_timeout=60 auth=required key=k1 owner=sda");
	EXPECT_TRUE(content().ends_with(
	    "timeout = 60\n\n[device sda]\nsession = new\ndevice = /dev/vg0/sda\n"))
	    << content();
	EXPECT_EQ(content().find("[session new]"), content().rfind("[session new]"));
	// A name that is taken.
	EXPECT_EQ(run_line(host, "map /dev/vg1/sda -s new --save").code, 0);
	EXPECT_TRUE(has(content(), "\n[device sda-2]\nsession = new\ndevice = /dev/vg1/sda\n"));
	// Nothing is left where the session is neither there nor said.
	o = run_line(host, "map /dev/sdb -s far --save");
	EXPECT_EQ(o.code, 2);
	EXPECT_TRUE(has(o.err, "a new one needs --path")) << o.err;
}

// A session that runs without being configured is saved as it runs, and so is a disk.
TEST_F(RnbdadmSave, WhatWasMappedByHand)
{
	configure("# empty\n");
	Outcome o = run_line(host, "map /dev/nvme1n1 -s store --save");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "/dev/rnbd1\n");
	EXPECT_TRUE(host.writes.empty());
	const std::string saved = run_line(host, "save").out;
	const std::size_t other = saved.find("[device nvme0n1]");
	EXPECT_EQ(content(), "# empty\n" +
				 saved.substr(saved.find('\n') + 1, other - saved.find('\n') - 1) +
				 saved.substr(saved.find("[device nvme1n1]")));
	o = run_line(host, "map /dev/nvme0n1 -s store -a ro --save");
	EXPECT_EQ(o.code, 5);
	EXPECT_TRUE(has(o.err, "as it runs: device nvme0n1 has access rw, and ro is asked for"))
	    << o.err;
	// The kernel does not know that name, which the section gives it.
	EXPECT_EQ(run_line(host, "unmap nvme1n1").code, 0);
	EXPECT_FALSE(host.exists("/sys/block/rnbd1"));
	EXPECT_EQ(run_line(host, "unmap nvme1n1").code, 3);
	EXPECT_EQ(run_line(host, "unmap nvme1n1 --if-mapped").code, 0);
}

TEST_F(RnbdadmSave, WhatIsConfiguredOtherwiseIsRefused)
{
	const std::string text = kGood + "[session new]\npath = 10.0.0.9\nport = 7\nkey = a\n"
					 "[device d]\nsession = new\ndevice = /dev/d\n";
	configure(text);
	struct Case {
		const char *line, *says;
	};
	const Case cases[] = {
	    {"map /dev/d -s new -a ro", "has access rw, and ro is asked for"},
	    {"map /dev/d -s new --no-path-timeout 5", "has no-path-timeout 0, and 5"},
	    {"map /dev/e -s new --port 8", "rnbd.conf:17: session new has port 7, and 8 is asked"},
	    {"map /dev/e -s new --key b", "session new has key a, and b is asked for"},
	    {"map /dev/e -s new --auth optional", "has auth required, and optional"},
	    {"map /dev/e -s new --policy rr", "has policy not given, and round-robin"},
	    {"map /dev/e -s new -p 10.0.0.8", "has path ip:10.0.0.9, and 10.0.0.8 is asked"},
	};
	for (const Case &c : cases) {
		Outcome o = run_line(host, std::string(c.line) + " --save");
		EXPECT_EQ(o.code, 5) << c.line << o.err;
		EXPECT_TRUE(has(o.err, c.says)) << c.line << o.err;
	}
	// What the configuration cannot say.
	EXPECT_EQ(run_words(host, {"map", "\"/dev/x\"", "-s", "store", "--save"}).code, 2);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(content(), text);
	EXPECT_EQ(run_line(host, "map /dev/e -s new -p ip:10.0.0.9 --key a --save").code, 0);
}

TEST_F(RnbdadmSave, AConfigurationWithMistakesIsRefused)
{
	configure(kText);
	for (const char *line :
	     {"map /dev/vg0/vm1 -s store --save", "unmap rnbd1 --save", "unmap --all --save"}) {
		Outcome o = run_line(host, line);
		EXPECT_EQ(o.code, 11) << line;
		EXPECT_TRUE(has(o.err, "nothing is done: the configuration has")) << o.err;
		EXPECT_TRUE(has(o.err, kFile + ":3: ")) << o.err;
	}
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(content(), kText);
}

TEST_F(RnbdadmSave, NothingIsMappedIfItCannotBeWritten)
{
	// Whose folder is gone.
	fs::create_directories(host.place("/etc/rnbd"));
	fs::create_symlink("gone/rnbd.conf", host.place(kFile));
	Outcome o = run_line(host, "map /dev/vg0/vm1 -s store --save");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.err, "/etc/rnbd/rnbd.conf: it cannot be read: it is gone")) << o.err;
	// What stands where the new file has to lie first.
	host.drop(kFile);
	configure(kGood);
	fs::create_directories(host.place(fmt::format("/etc/rnbd/.rnbd.conf.{}/x", getpid())));
	for (const char *line : {"map /dev/vg0/vm1 -s store --save", "unmap data --save"}) {
		o = run_line(host, line);
		EXPECT_NE(o.code, 0) << line;
		EXPECT_TRUE(has(o.err, "cannot write /etc/rnbd/rnbd.conf")) << o.err;
	}
	// No folder at all.
	host.drop("/etc/rnbd");
	host.put("/etc/rnbd", "a file");
	EXPECT_NE(run_line(host, "map /dev/vg0/vm1 -s store --save").code, 0);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(rnbdadm::read_devices(host).size(), 2u);
}

namespace {

// Something happens to the configuration while the kernel is at work.
class Meanwhile : public FakeHost {
public:
	std::vector<int> write_all(const std::vector<Order> &orders, double seconds) override
	{
		happens();
		return FakeHost::write_all(orders, seconds);
	}
	std::function<void()> happens = [] {
	};
};

} // namespace

TEST(RnbdadmSaveLate, WhatIsDoneAndWhatIsNotIsSaid)
{
	Meanwhile host;
	host.client();
	host.happens = [&] {
		host.drop("/etc/rnbd");
		host.put("/etc/rnbd", "a file");
	};
	Outcome o = run_line(host, "map /dev/sda -s store --save");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "/dev/rnbd2 is mapped, and not saved: cannot write")) << o.err;
	// Another one's words are not overwritten.
	host.drop("/etc/rnbd");
	host.happens = [&] {
		host.put(kFile, "# hers");
	};
	o = run_line(host, "map /dev/sdb -s store --save");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "/dev/rnbd3 is mapped, and not saved: /etc/rnbd/rnbd.conf was "
			       "changed meanwhile"))
	    << o.err;
	EXPECT_EQ(host.text(kFile), "# hers");
	host.happens = [] {
	};
	EXPECT_EQ(run_line(host, "map /dev/sdb -s store --save").code, 0);
	EXPECT_TRUE(has(host.text(kFile), "[device sdb]"));
	// What is taken out is looked for anew.
	host.happens = [&] {
		host.put(kFile, "# his\n" + host.text(kFile));
	};
	EXPECT_EQ(run_line(host, "unmap sdb --save").code, 0);
	EXPECT_EQ(host.text(kFile), "# his\n# hers");
	host.happens = [] {
	};
	EXPECT_EQ(run_line(host, "map /dev/sdb -s store --save").code, 0);
	host.happens = [&] {
		host.put(kFile, host.text(kFile) + "\nhers");
	};
	o = run_line(host, "unmap sdb --save");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "ended, and still in the configuration, which has a mistake now"))
	    << o.err;
	EXPECT_TRUE(has(host.text(kFile), "[device sdb]"));
}

TEST_F(RnbdadmSave, DryRunSaysItAndChangesNothing)
{
	Outcome o = run_line(host, "map /dev/sda -s new -p 10.0.0.9 --save --dry-run");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out,
		  "write 'sessname=new path=ip:10.0.0.9 device_path=/dev/sda owner=sda' to " +
		      kMap +
		      "\nadd to /etc/rnbd/rnbd.conf:\n[session new]\npath = 10.0.0.9\n"
		      "add to /etc/rnbd/rnbd.conf:\n"
		      "[device sda]\nsession = new\ndevice = /dev/sda\n");
	EXPECT_FALSE(host.exists("/etc/rnbd"));
	configure(kGood);
	o = run_line(host, "unmap data --save --dry-run --force");
	EXPECT_EQ(o.out, "write 'force' to /sys/block/rnbd0/rnbd/unmap_device\n"
			 "take [device data] out of /etc/rnbd/rnbd.conf\n"
			 "take [session store] out of /etc/rnbd/rnbd.conf\n");
	EXPECT_EQ(content(), kGood);
	EXPECT_TRUE(host.writes.empty());
}

TEST_F(RnbdadmSave, WhatIsUnmappedGoesFromWhereItStands)
{
	const std::string session = "[session store]\npath = 10.0.0.1\n";
	configure(session);
	const std::string more = "/etc/rnbd/rnbd.conf.d/more.conf";
	configure("[device a]\nsession = store\ndevice = /dev/nvme0n1\n\n"
		  "[device b]\nsession = store\ndevice = /dev/nvme1n1\n\n"
		  "[device c]\nsession = store\ndevice = /dev/c\n",
		  more);
	// What stays mapped stays configured.
	host.errors["rnbd0/rnbd/unmap_device"] = EBUSY;
	Outcome o = run_line(host, "unmap a rnbd1 --save");
	EXPECT_EQ(o.code, 10);
	EXPECT_TRUE(has(o.err, "mounted on /srv/data")) << o.err;
	EXPECT_EQ(content(more), "[device a]\nsession = store\ndevice = /dev/nvme0n1\n\n"
				 "[device c]\nsession = store\ndevice = /dev/c\n");
	// It is not mapped.
	EXPECT_EQ(run_line(host, "unmap c").code, 3);
	EXPECT_EQ(run_line(host, "unmap c --save").code, 0);
	EXPECT_EQ(run_line(host, "unmap c --save").code, 3);
	EXPECT_EQ(content(), session);
	host.errors.clear();
	EXPECT_EQ(run_line(host, "unmap rnbd0 --save").code, 0);
	EXPECT_EQ(content(more), "");
	EXPECT_EQ(content(), "");
}

TEST_F(RnbdadmSave, WhatTheInitramfsHasStays)
{
	configure(kGood + "[device r]\nsession = store\ndevice = /dev/nvme1n1\ninitramfs = yes\n");
	EXPECT_EQ(run_line(host, "unmap r --spare-initramfs --save").code, 0);
	EXPECT_TRUE(host.exists("/sys/block/rnbd1"));
	EXPECT_TRUE(has(content(), "[device r]"));
}

TEST_F(RnbdadmSave, NamesOfMachinesStayNames)
{
	host.machines = {{"store1", {"10.0.0.9"}}};
	EXPECT_EQ(run_line(host, "map /dev/sda -s new -p store1 --save").code, 0);
	ASSERT_FALSE(host.writes.empty());
	EXPECT_TRUE(has(host.writes[0], "path=ip:10.0.0.9 ")) << host.writes[0];
	EXPECT_TRUE(has(content(), "path = store1\n")) << content();
	EXPECT_EQ(run_line(host, "map /dev/sdb -s new -p 10.0.0.8 --save").code, 5);
	EXPECT_EQ(run_line(host, "map /dev/sdb -s new -p 10.0.0.9 --save").code, 0);
}

TEST_F(RnbdadmSave, AllThatTheServerExports)
{
	Outcome o = run_line(host, "map --all -s store --save");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(has(content(), "[device data]\nsession = store\ndevice = data\n")) << content();
	restart();
	host.session("store");
	EXPECT_EQ(run_line(host, "apply").code, 0);
	EXPECT_FALSE(has(content(), "device = hers"));
}

TEST_F(RnbdadmSave, ItIsSaidIfNothingWillMapIt)
{
	fs::create_directories(host.place("/etc/systemd/system"));
	Outcome o = run_line(host, "map /dev/sda -s store --save");
	EXPECT_EQ(o.code, 0);
	EXPECT_TRUE(has(o.err, "systemctl enable rnbd-client.target")) << o.err;
	host.put("/etc/systemd/system/remote-fs.target.wants/rnbd-client.target", "");
	EXPECT_EQ(run_line(host, "map /dev/sdb -s store --save").err, "");
}
