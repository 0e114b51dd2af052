// SPDX-License-Identifier: GPL-2.0
// Which names of sessions the keys open: looked at, changed, and as the configuration says.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

const std::string kTree = "/sys/kernel/config/rtrs/keys";

std::string list_of(FakeHost &host, const std::string &key)
{
	return host.text(kTree + "/" + key + "/allowed_sessions");
}

void give(FakeHost &host, const std::string &key, const std::string &list)
{
	host.put(kTree + "/" + key + "/allowed_sessions", list);
}

} // namespace

TEST(RnbdadmNameList, ListSetRemove)
{
	FakeHost host;
	host.server();
	give(host, "client7", "client7 web-*");
	EXPECT_EQ(run_line(host, "server key list --no-header").out, "client7  client7 web-*\n");
	EXPECT_EQ(run_line(host, "server key set client7 --client web-* --client client7").code, 0);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "server key set client7 --client client7").code, 0);
	EXPECT_EQ(list_of(host, "client7"), "client7");
	EXPECT_EQ(run_line(host, "server key set client8 --client a").code, 0);
	EXPECT_EQ(list_of(host, "client8"), "a");
	EXPECT_EQ(run_line(host, "server key remove client8").code, 0);
	EXPECT_FALSE(host.exists(kTree + "/client8"));
	Outcome o = run_line(host, "server key remove client9");
	EXPECT_EQ(o.code, 3);
	EXPECT_TRUE(has(o.err, "did you mean 'client7'")) << o.err;
	EXPECT_EQ(run_line(host, "server key remove --all").code, 0);
	EXPECT_FALSE(host.exists(kTree + "/client7"));
}

TEST(RnbdadmNameList, BadInputChangesNothing)
{
	FakeHost host;
	host.server();
	give(host, "client7", "client7");
	for (const char *line : {"set client7", "set -a --client x", "set a:1 --client x",
				 "set client7 --client=", "set client7 --client a/b",
				 "set client7 --client 'a b'", "remove", "remove client7 --all"})
		EXPECT_EQ(run_line(host, std::string("server key ") + line).code, 2) << line;
	EXPECT_EQ(list_of(host, "client7"), "client7");
	EXPECT_TRUE(host.writes.empty());
}

TEST(RnbdadmNameList, OlderModulesHaveNone)
{
	FakeHost host;
	host.server();
	EXPECT_EQ(run_line(host, "server key list --no-header").out, "");
	Outcome o = run_line(host, "server key set client7 --client a");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "cannot bind names to keys")) << o.err;
}

TEST(RnbdadmNameList, OfTheConfiguration)
{
	FakeHost host;
	host.server();
	give(host, "old", "old");
	const std::string exported =
	    "[export vm1]\ndevice = /dev/vg0/vm1\nclient = alpha\nclient = beta\naddress = "
	    "10.0.0.0/30\naddress = fd00::2\n";
	host.put("/etc/rnbd/rnbd.conf",
		 "[key client7]\nclient = client7\nclient = web-*\n" + exported);
	EXPECT_EQ(
	    run_line(host, "diff --no-header").out,
	    "key client7  client  client7 web-*  -\nkey old      client  -              old\n");
	EXPECT_EQ(run_line(host, "apply").out, "key client7: made\nexport vm1: unchanged\n");
	EXPECT_EQ(list_of(host, "client7"), "client7 web-*");
	EXPECT_EQ(run_line(host, "apply --exports").out,
		  "key client7: unchanged\nexport vm1: unchanged\n");
	EXPECT_TRUE(has(run_line(host, "save").out, "[key client7]\nclient = client7\nclient = "
						    "web-*\n\n[key old]\nclient = old\n"));
	EXPECT_TRUE(has(run_line(host, "check").out, "1 list of a key"));
	host.put("/etc/rnbd/rnbd.conf", "[key client7]\nclient = web-2\n" + exported);
	EXPECT_EQ(run_line(host, "apply").out, "key client7: changed\nexport vm1: unchanged\n");
	EXPECT_EQ(list_of(host, "client7"), "web-2");
}

TEST(RnbdadmNameList, MistakesOfTheConfiguration)
{
	FakeHost host;
	host.server();
	const std::pair<const char *, const char *> cases[] = {
	    {"[key -a]\nclient = x\n", "'-a' cannot be the name of a key"},
	    {"[key a]\n", "key a does not say its client"},
	    {"[key a]\nclient = a/b\n", "rnbd.conf:2: 'a/b' is no name of a session"},
	    {"[key a]\naddress = 10.0.0.1\n", "has no key 'address'"},
	};
	for (const auto &[text, said] : cases) {
		host.put("/etc/rnbd/rnbd.conf", text);
		Outcome o = run_line(host, "check");
		EXPECT_EQ(o.code, 11) << text;
		EXPECT_TRUE(has(o.out, said)) << o.out;
		EXPECT_EQ(run_line(host, "apply").code, 11) << text;
	}
	EXPECT_TRUE(host.writes.empty());
}

// Names that were to be bound and are not are anybody's: what is for them stays closed.
TEST(RnbdadmNameList, WithoutTheNamesNothingIsForThem)
{
	const std::string exports = "[export named]\ndevice = /dev/vg0/a\nclient = client7\n"
				    "[export keyed]\ndevice = /dev/vg0/b\nkey = client7\n";
	for (const char *text :
	     {"[key client7]\nclient = a/b\n", "[key client7]\nclent = client7\n",
	      "[kye client7]\nclient = client7\n", "[key]\nclient = client7\n",
	      "client = client7\n"}) {
		FakeHost host;
		host.server();
		give(host, "other", "other");
		host.put("/etc/rnbd/rnbd.conf", text + exports);
		Outcome o = run_line(host, "apply --exports");
		EXPECT_EQ(o.code, 13) << text;
		EXPECT_TRUE(has(o.out, "export named: faulty\n")) << text << o.out;
		EXPECT_TRUE(has(o.out, "export keyed: exported\n")) << text << o.out;
		EXPECT_TRUE(has(o.err, "names of keys may be missing: /etc/rnbd/rnbd.conf:"))
		    << text << o.err;
		EXPECT_EQ(list_of(host, "other"), "other");
	}
	// Mistakes elsewhere cost nothing here.
	FakeHost host;
	host.server();
	give(host, "other", "other");
	host.put("/etc/rnbd/rnbd.conf", "[session s]\n[key client7]\nclient = client7\n" + exports);
	EXPECT_EQ(run_line(host, "apply --exports").out,
		  "key client7: made\nexport named: exported\nexport keyed: exported\n");
	EXPECT_EQ(run_line(host, "apply").code, 13);
}

TEST(RnbdadmNameList, ANameThatCannotBeBoundOpensNothing)
{
	FakeHost host;
	host.server();
	host.put("/etc/rnbd/rnbd.conf", "[key client7]\nclient = client7\n"
					"[export named]\ndevice = /dev/vg0/a\nclient = client7\n"
					"[export keyed]\ndevice = /dev/vg0/b\nkey = client7\n");
	Outcome o = run_line(host, "apply --exports"); // a module that has no lists
	EXPECT_EQ(o.code, 10);
	EXPECT_EQ(o.out, "key client7: failed\nexport named: failed\nexport keyed: exported\n");
	EXPECT_TRUE(has(o.err, "its clients may be those of key client7")) << o.err;
}
