// SPDX-License-Identifier: GPL-2.0
// server export add --save and remove --save: exports that come into the configuration and go.
#include "fake.hh"

#include <cerrno>
#include <fstream>

#include <unistd.h>

namespace {

const std::string kFile = "/etc/rnbd/rnbd.conf";
const std::string kFolder = "/sys/kernel/config/rnbd/exports/";
const std::string kText = "# Of this server.\n[export old]\n# for Eve\ndevice = /dev/old\n; end\n";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmExportSave : public testing::Test {
protected:
	RnbdadmExportSave() { host.server(); }

	void configure(const std::string &text)
	{
		fs::create_directories(host.place("/etc/rnbd"));
		std::ofstream(host.place(kFile)) << text;
	}
	std::string content()
	{
		std::ifstream stream(host.place(kFile));
		std::ostringstream text;
		text << stream.rdbuf();
		return text.str();
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmExportSave, ComesAndGoes)
{
	configure(kText);
	host.machines = {{"web", {"10.0.0.9", "fd00::9"}}};
	const std::string line = "server export add vm2 /dev/vg0/vm2 --access ro --client a "
				 "--client b* --key k --address 10.0.0.0/30 --address web --save";
	Outcome o = run_line(host, line);
	EXPECT_EQ(o.code, 0) << o.err;
	const std::string saved = kText +
				  "\n[export vm2]\ndevice = /dev/vg0/vm2\naccess = ro\n"
				  "client = a\nclient = b*\nkey = k\naddress = 10.0.0.0/30\n"
				  "address = web\n";
	EXPECT_EQ(content(), saved);
	EXPECT_EQ(host.text(kFolder + "vm2/allowed_addresses"), "10.0.0.0/30 10.0.0.9 fd00::9");
	EXPECT_TRUE(has(run_line(host, "apply --exports").out, "export vm2: unchanged"));
	// A second one changes nothing.
	host.writes.clear();
	o = run_line(host, line);
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(content(), saved);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "server export remove vm2 --save").code, 0);
	EXPECT_FALSE(host.exists(kFolder + "vm2"));
	EXPECT_EQ(content(), kText);
}

TEST_F(RnbdadmExportSave, OneThatRunsIsSavedIfItIsThatOne)
{
	const std::string line = "server export add vm1 /dev/vg0/vm1 --client alpha --client beta "
				 "--address 10.0.0.0/30 --address fd00::2";
	Outcome o = run_line(host, "server export add vm1 /dev/vg0/vm1 --client alpha --save");
	EXPECT_EQ(o.code, 5);
	EXPECT_TRUE(has(o.err, "it is there already: export vm1 has client alpha beta, and alpha "
			       "is asked for"))
	    << o.err;
	EXPECT_EQ(content(), "");
	EXPECT_EQ(run_line(host, line).code, 5);
	EXPECT_EQ(run_line(host, line + " --save").code, 0);
	EXPECT_EQ(content(), "[export vm1]\ndevice = /dev/vg0/vm1\nclient = alpha\nclient = beta\n"
			     "address = 10.0.0.0/30\naddress = fd00::2\n");
	EXPECT_TRUE(host.writes.empty());
}

TEST_F(RnbdadmExportSave, WhatIsConfiguredOtherwiseIsRefused)
{
	const std::string text = "[defaults]\naccess = ro\n[export e]\ndevice = /dev/e\nkey = k\n";
	configure(text);
	for (const char *rest : {"/dev/f --key k", "/dev/e", "/dev/e --key l",
				 "/dev/e --key k -a "
				 "rw"}) {
		Outcome o = run_line(host, std::string("server export add e --save ") + rest);
		EXPECT_EQ(o.code, 5) << rest << o.err;
		EXPECT_TRUE(has(o.err, kFile + ":3: export e has ")) << o.err;
	}
	// What no key of the configuration can say.
	EXPECT_EQ(run_line(host, "server export add x /dev/x --client #a --save").code, 2);
	EXPECT_EQ(run_line(host, "server export add a]b /dev/x --save").code, 2);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_FALSE(host.exists(kFolder + "e"));
	EXPECT_EQ(content(), text);
	// What is not given is as it is configured.
	EXPECT_EQ(run_line(host, "server export add e /dev/e --key k --save").code, 0);
	EXPECT_EQ(host.text(kFolder + "e/access"), "ro");
	EXPECT_EQ(content(), text);
}

TEST_F(RnbdadmExportSave, NothingIsDoneIfItCannotBeSaved)
{
	configure("[exprt x]\n");
	for (const char *line : {"add vm2 /dev/x --save", "remove vm1 --save"}) {
		Outcome o = run_line(host, std::string("server export ") + line);
		EXPECT_EQ(o.code, 11) << line << o.err;
	}
	configure("[export vm1]\ndevice = /dev/vg0/vm1\n");
	// What stands where the new file has to lie first.
	fs::create_directories(host.place(fmt::format("/etc/rnbd/.rnbd.conf.{}/x", getpid())));
	for (const char *line : {"add vm2 /dev/x --save", "remove vm1 --save"}) {
		Outcome o = run_line(host, std::string("server export ") + line);
		EXPECT_NE(o.code, 0) << line;
		EXPECT_TRUE(has(o.err, "cannot write /etc/rnbd/rnbd.conf")) << o.err;
	}
	EXPECT_TRUE(host.writes.empty());
	EXPECT_FALSE(host.exists(kFolder + "vm2"));
	EXPECT_TRUE(host.exists(kFolder + "vm1"));
}

TEST_F(RnbdadmExportSave, DryRunSaysItAndChangesNothing)
{
	configure(kText);
	Outcome o = run_line(host, "server export add vm2 /dev/vg0/vm2 --save --dry-run");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_TRUE(
	    o.out.ends_with("add to /etc/rnbd/rnbd.conf:\n[export vm2]\ndevice = /dev/vg0/vm2\n"))
	    << o.out;
	o = run_line(host, "server export remove old --save --dry-run");
	EXPECT_EQ(o.out, "take [export old] out of /etc/rnbd/rnbd.conf\n");
	EXPECT_EQ(content(), kText);
	EXPECT_TRUE(host.writes.empty());
}

TEST_F(RnbdadmExportSave, OneThatDoesNotRunIsTakenOut)
{
	configure(kText);
	EXPECT_EQ(run_line(host, "server export remove old").code, 3);
	EXPECT_EQ(run_line(host, "server export remove old --save").code, 0);
	EXPECT_EQ(content(), "# Of this server.\n; end\n");
	EXPECT_EQ(run_line(host, "server export remove old --save").code, 3);
	configure(kText);
	EXPECT_EQ(run_line(host, "server export remove --all --save").code, 0);
	EXPECT_FALSE(host.exists(kFolder + "vm1"));
	// --all are those that run.
	EXPECT_EQ(content(), kText);
	// Without the module as well.
	for (const char *folder : {"/sys/class/rnbd-server", "/sys/kernel/config/rnbd"})
		host.drop(folder);
	EXPECT_EQ(run_line(host, "server export remove old").code, 9);
	EXPECT_EQ(run_line(host, "server export remove old --save").code, 0);
}
