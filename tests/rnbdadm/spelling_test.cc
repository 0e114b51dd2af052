// SPDX-License-Identifier: GPL-2.0
// Addresses in whatever spelling, and what an editor leaves in a file.
#include "fake.hh"

#include <algorithm>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

Outcome check(const std::string &text)
{
	FakeHost host;
	host.put("/etc/rnbd/rnbd.conf", text);
	return run_line(host, "check");
}

} // namespace

TEST(RnbdadmSpelling, PathsOfAMap)
{
	const std::pair<const char *, const char *> cases[] = {
	    {"[fd00::1]", "ip:fd00::1"},
	    {"ip:[FD00:0:0::1]", "ip:fd00::1"},
	    {"FD00:0000::0001", "ip:fd00::1"},
	    {"[fd00::2]@[fd00::1]", "ip:fd00::2@ip:fd00::1"},
	    {"[fe80::1%eth0]", "ip:fe80::1%eth0"},
	    {"FE80:0::1%eth0", "ip:fe80::1%eth0"},
	    {"fe80::1%1", "ip:fe80::1%lo"}, // every machine's first interface
	    {"fe80::1%4294967297", "ip:fe80::1%4294967297"},
	    {"::ffff:10.0.0.9", "ip:::ffff:10.0.0.9"},
	    {"gid:[fe80::1]", "gid:fe80::1"},
	};
	for (const auto &[word, written] : cases) {
		FakeHost host;
		host.client();
		Outcome o = run_line(host, std::string("map vm1 -s new -p ") + word);
		EXPECT_EQ(o.code, 0) << word << o.err;
		EXPECT_TRUE(has(host.writes.at(0), std::string("path=") + written + " "))
		    << host.writes[0];
	}
	for (const char *word :
	     {"[10.0.0.9]", "[fd00::1", "fd00::1]", "[]", "[fd00::1]:1234", "10.0.0.999"}) {
		FakeHost host;
		host.client();
		EXPECT_EQ(run_line(host, std::string("map vm1 -s new -p ") + word).code, 2) << word;
	}
}

TEST(RnbdadmSpelling, NamesOfObjects)
{
	FakeHost host;
	host.client();
	host.session("six");
	host.path("six", "ip:fd00::2", "ip:fd00::1", "mlx5_0", "connected");
	for (const char *word : {"fd00::1", "[fd00::1]", "FD00:0::1", "ip:FD00::1",
				 "[fd00::2]@[fd00::1]", "fd00::2,FD00:0::1"}) {
		Outcome o = run_line(host, std::string("path show ") + word);
		EXPECT_EQ(o.code, 0) << word << o.err;
		o = run_line(host, std::string("session show ") + word);
		EXPECT_EQ(o.code, 0) << word << o.err;
	}
	EXPECT_EQ(run_line(host, "path show six:[fd00::1]").code, 0);
}

TEST(RnbdadmSpelling, RulesOfExports)
{
	FakeHost host;
	host.server();
	const std::string rules = "/sys/kernel/config/rnbd/exports/vm1/allowed_addresses";
	EXPECT_EQ(run_line(host, "server export set vm1 --address [FD00:0::7]").code, 0);
	EXPECT_EQ(host.text(rules), "fd00::7");
	EXPECT_EQ(run_line(host, "server export set vm1 --address [FD00:1::]/32").code, 0);
	EXPECT_EQ(host.text(rules), "fd00:1::/32");
	EXPECT_EQ(run_line(host, "server export set vm1 --address [10.0.0.1]").code, 2);
}

TEST(RnbdadmSpelling, PathsOfTheConfiguration)
{
	EXPECT_EQ(check("[session s]\npath = [fd00::1]\npath = [fd00::2%eth0]\n").code, 0);
	Outcome o = check("[session s]\npath = fd00::1\npath = 10.0.0.1\npath = [FD00:0::1]\n");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(
	    has(o.out, "rnbd.conf:4: path ip:fd00::1 is given at /etc/rnbd/rnbd.conf:2 already"))
	    << o.out;
	o = check("[session s]\npath = 10.0.0.2@fd00::1\n");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(
	    has(o.out, "rnbd.conf:2: '10.0.0.2@fd00::1': both ends of a path are of one family"))
	    << o.out;
	FakeHost host;
	host.client();
	EXPECT_EQ(run_line(host, "map vm1 -s new -p 10.0.0.2@fd00::1").code, 2);
}

TEST(RnbdadmSpelling, WhatAnEditorLeaves)
{
	EXPECT_EQ(check("\xef\xbb\xbf[session s]\npath = 10.0.0.1\n").code, 0);
	Outcome o = check("[export \"data\"]\ndevice = /dev/sdb\n");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(
	    o.out, "rnbd.conf:1: '[export \"data\"]': a name has no quotes: write [export data]"))
	    << o.out;
	for (const char *quoted : {"\"/dev/sdb\"", "'/dev/sdb'"}) {
		o = check(std::string("[export data]\ndevice = ") + quoted + "\n");
		EXPECT_EQ(o.code, 11);
		EXPECT_TRUE(has(o.out, "a value has no quotes: write 'device = /dev/sdb'"))
		    << o.out;
	}
	o = check(std::string("[export data]\ndevice = /dev/s") + '\0' + "db\n");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.out, "rnbd.conf:2: there is a zero byte in this line")) << o.out;
	o = check("[export data]\ndevice = /dev/" + std::string(100'000, 'x') + "\n");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.out, "rnbd.conf:2: the value of device has 100005 characters"))
	    << o.out.substr(0, 200);
	EXPECT_LT(o.out.size(), 500u);
}

TEST(RnbdadmSpelling, AllMistakesInTheirOrder)
{
	Outcome o = check("[device d]\nsession = none\ndevice = x\n[export e]\naccess = wr\n"
			  "[session s]\npath = 10.0.0\nport = 0\n");
	EXPECT_EQ(o.code, 11);
	std::vector<std::size_t> at;
	for (const char *part :
	     {"rnbd.conf:1: there is no section [session none]", "rnbd.conf:5: access 'wr'",
	      "rnbd.conf:7: '10.0.0'", "rnbd.conf:8: port"})
		at.push_back(o.out.find(part));
	EXPECT_FALSE(std::count(at.begin(), at.end(), std::string::npos)) << o.out;
	EXPECT_TRUE(std::is_sorted(at.begin(), at.end())) << o.out;
}
