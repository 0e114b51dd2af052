// SPDX-License-Identifier: GPL-2.0
// What is one word: a comment behind it, or a second one, would be taken for names.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(RnbdadmWord, OfTheConfiguration)
{
	const struct {
		const char *section, *line, *says;
	} cases[] = {
	    {"export e", "client = host7 # was web", "write 'client = host7'"},
	    {"export e", "client = host7 host8", "write 'client = host7'"},
	    {"export e", "client = host7#web", "write 'client = host7'"},
	    {"export e", "client = # web", "'# web' is a comment: client has no value"},
	    {"export e", "key = a b", "write 'key = a'"},
	    {"export e", "address = 10.0.0.7 # web", "write 'address = 10.0.0.7'"},
	    {"export e", "access = ro # for now", "write 'access = ro'"},
	    {"export e", "device = /dev/sdc # the old one", "write 'device = /dev/sdc'"},
	    {"key k", "client = host7\thost8", "write 'client = host7'"},
	    {"session s", "path = 10.0.0.1 # eth0", "write 'path = 10.0.0.1'"},
	    {"session s", "port = 1234 # usual", "write 'port = 1234'"},
	    {"session s", "policy = rr # fair", "write 'policy = rr'"},
	    {"session s", "key = a # mine", "write 'key = a'"},
	    {"session s", "soft-roce = eth0 eth1", "write 'soft-roce = eth0'"},
	    {"device d", "session = s # t", "write 'session = s'"},
	    {"device d", "device = vm1 # the first", "write 'device = vm1'"},
	    {"device d", "initramfs = yes # root", "write 'initramfs = yes'"},
	};
	for (const auto &c : cases) {
		FakeHost host;
		host.server();
		host.put("/etc/rnbd/rnbd.conf",
			 std::string("[") + c.section + "]\n" + c.line + "\n");
		Outcome o = run_line(host, "check");
		EXPECT_EQ(o.code, 11) << c.line;
		EXPECT_TRUE(has(o.out, std::string("rnbd.conf:2: "))) << c.line << o.out;
		EXPECT_TRUE(has(o.out, c.says)) << c.line << "\n" << o.out;
		run_line(host, "apply --exports");
		EXPECT_FALSE(host.exists("/sys/kernel/config/rnbd/exports/e")) << c.line;
	}
}

TEST(RnbdadmWord, TheMessageSaysWhatToWrite)
{
	FakeHost host;
	host.put("/etc/rnbd/rnbd.conf", "[export e]\ndevice = /dev/sdb\nclient = host7 # was web\n"
					"access = ro # for now\n");
	EXPECT_EQ(run_line(host, "check").out,
		  "/etc/rnbd/rnbd.conf:3: client: 'host7 # was web' is more than one word: write "
		  "'client = host7'; another client, and a comment, stand in lines of their own\n"
		  "/etc/rnbd/rnbd.conf:4: access: 'ro # for now' is more than one word: write "
		  "'access = ro'; a comment stands in a line of its own\n");
	// A device of this machine may have a blank in its name, and a '#', too; a comment has
	// both.
	host.put("/etc/rnbd/rnbd.conf", "[export e]\ndevice = /dev/disk/my disk\n"
					"[export f]\ndevice = /dev/disk/by-id/x#1\n");
	EXPECT_EQ(run_line(host, "check").code, 0);
}

TEST(RnbdadmWord, OfTheCommandLine)
{
	FakeHost host;
	host.client();
	host.server();
	const struct {
		std::vector<std::string> words;
		const char *says;
	} cases[] = {
	    {{"server", "export", "add", "a", "/dev/sdb", "--client", "host7 # was web"},
	     "--client host7"},
	    {{"server", "export", "set", "vm1", "--client", "host7 host8"}, "--client host7"},
	    {{"server", "export", "set", "vm1", "--client", "host7#web"}, "--client host7"},
	    {{"server", "export", "set", "vm1", "--key", "a b"}, "--key a"},
	    {{"server", "export", "set", "vm1", "--address", "10.0.0.7 10.0.0.8"},
	     "--address 10.0.0.7"},
	    {{"server", "key", "set", "k", "--client", "host7 # web"}, "--client host7"},
	    {{"map", "vm1", "--session", "s", "--path", "10.0.0.1 10.0.1.1"}, "--path 10.0.0.1"},
	    {{"map", "vm1", "--session", "s", "--path", "10.0.0.1", "--key", "k # mine"},
	     "--key k"},
	    {{"map", "vm1", "--session", "store", "--access", "ro # now"}, "--access ro"},
	};
	for (const auto &c : cases) {
		Outcome o = run_words(host, c.words);
		EXPECT_EQ(o.code, 2) << c.words.back();
		EXPECT_TRUE(has(o.err, std::string("is more than one word: write ") + c.says))
		    << o.err;
		EXPECT_TRUE(host.writes.empty()) << c.words.back();
	}
	Outcome o = run_line(host, "map vm1 --session a#b --path 10.0.0.1");
	EXPECT_EQ(o.code, 2);
	EXPECT_TRUE(has(o.err, "'a#b' cannot be the name of a session")) << o.err;
	EXPECT_TRUE(has(o.err, "without blank, '#',")) << o.err;
}

// What other programs have called so is not half of it.
TEST(RnbdadmWord, NothingIsSavedThatReadsAsLess)
{
	FakeHost host;
	host.client();
	host.server();
	host.session("a#b");
	host.path("a#b", "ip:10.0.0.2", "ip:10.0.0.9", "mlx5_0", "connected");
	host.device(4, "a#b", "/dev/nvme2n1");
	host.put("/sys/kernel/config/rnbd/exports/vm1/allowed_sessions", "alpha c#d");
	host.put("/sys/kernel/config/rtrs/keys/k/allowed_sessions", "e#f g");
	const std::string text = run_line(host, "save").out;
	for (const char *part : {"# Left out, with its devices: session 'a#b'",
				 "# Left out, a client has a '#' in its name: export 'vm1'",
				 "# Left out, a name has a '#' in it: key k"})
		EXPECT_TRUE(has(text, part)) << part << "\n" << text;
	host.put("/etc/rnbd/rnbd.conf", text);
	EXPECT_EQ(run_line(host, "check").code, 0) << run_line(host, "check").out;
	EXPECT_FALSE(has(text, "nvme2n1")) << text;
}
