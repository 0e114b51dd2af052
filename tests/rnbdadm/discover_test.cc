// SPDX-License-Identifier: GPL-2.0
// What a server exports: the question, the answer in every format, and all of it mapped.
#include "fake.hh"

#include "discovery.hh"

#include <cerrno>

namespace {

const std::string kFile = "/sys/class/rnbd-client/ctl/discover";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(RnbdadmDiscover, Formats)
{
	for (const char *format : {"table", "json", "csv"}) {
		FakeHost host;
		host.client();
		Outcome o = run_line(host, std::string("discover store -o ") + format);
		EXPECT_EQ(o.code, 0) << o.err;
		EXPECT_EQ(o.err, "");
		const std::string name = format == std::string("table") ? "txt" : format;
		expect_golden("discover." + name, o.out);
	}
}

TEST(RnbdadmDiscover, WhomItAsks)
{
	FakeHost host;
	host.client();
	host.put("/proc/sys/kernel/hostname", "client7.example.org");
	host.machines = {{"store1", {"fd00::9", "10.0.0.9"}}};
	struct Case {
		const char *line;
		const char *question;
		const char *says;
	};
	const Case cases[] = {
	    {"discover store", "sessname=store", ""},
	    {"discover -s store", "sessname=store", ""},
	    // The address of a path of that session.
	    {"discover 10.0.0.1", "sessname=store", "asking as session store"},
	    {"discover store1", "sessname=client7 path=ip:fd00::9", "asking as session client7"},
	    {"discover 10.0.0.2@store1 -s new -p 10.0.1.9 --port 99 --key k --auth required",
	     "sessname=new path=ip:10.0.0.2@ip:10.0.0.9 path=ip:10.0.1.9 dest_port=99 "
	     "auth=required key=k",
	     ""},
	};
	for (const Case &c : cases) {
		host.writes.clear();
		Outcome o = run_line(host, c.line);
		EXPECT_EQ(o.code, 0) << c.line << o.err;
		EXPECT_EQ(host.writes, std::vector<std::string>{kFile + " <- " + c.question})
		    << c.line;
		EXPECT_TRUE(has(o.err, c.says)) << o.err;
	}
	host.writes.clear();
	EXPECT_EQ(run_line(host, "discover store -n").out,
		  "write 'sessname=store' to " + kFile + "\n");
	EXPECT_EQ(run_line(host, "discover").code, 2);
	EXPECT_EQ(run_line(host, "discover -s new").code, 2);
	EXPECT_EQ(run_line(host, "discover store2").code, 3);
	EXPECT_EQ(run_line(host, "discover 10.0.0.9 -s a.b").code, 2);
	EXPECT_TRUE(host.writes.empty());
	host.paths_too = true;
	EXPECT_TRUE(has(run_line(host, "discover store").err, "by their paths"));
}

TEST(RnbdadmDiscover, WhatCanGoWrong)
{
	FakeHost host;
	host.client();
	const struct {
		int error;
		const char *says;
		int code;
	} kErrors[] = {{EOPNOTSUPP, "does not tell what it exports", 1},
		       {EOVERFLOW, "does not come to an end", 1},
		       {EINVAL, "what the server answered", 1},
		       {EACCES, "EACCES", 1},
		       {EPROTONOSUPPORT, "requires a proof", 1}};
	for (const auto &e : kErrors) {
		host.errors["ctl/discover"] = e.error;
		Outcome o = run_line(host, "discover store");
		EXPECT_EQ(o.code, e.code) << e.says;
		EXPECT_TRUE(has(o.err, e.says)) << o.err;
	}
	host.errors.clear();
	// Whoever comes in between has another answer, and so has this one when it asks again.
	host.others_ask = 2;
	host.writes.clear();
	EXPECT_EQ(run_line(host, "discover store").code, 0);
	EXPECT_EQ(host.writes.size(), 3u);
	host.others_ask = 100;
	EXPECT_EQ(run_line(host, "discover store").code, 6);
	// Modules of the kernel, or older ones.
	host.drop("/sys/class/rnbd-client/ctl/discover");
	EXPECT_EQ(run_line(host, "discover store").code, 9);
}

TEST(RnbdadmDiscover, AnswersThatAreNone)
{
	using rnbdadm::parse_discovered;
	const std::string whole = "7 q\n8 rw - a b\nend 7 exports";
	auto parsed = parse_discovered(whole, "q");
	ASSERT_TRUE(parsed);
	ASSERT_EQ(parsed->exports.size(), 1u);
	EXPECT_EQ(parsed->exports[0].name, "a b");
	EXPECT_EQ(parsed->exports[0].size, 4096u);
	EXPECT_FALSE(parse_discovered(whole, "p"));
	for (const char *bad :
	     {"", "7 q", "7 q\n8 rw - a\nend 8 exports", "7 q\n8 rw -\nend 7 exports",
	      "7 q\nx rw - a\nend 7 exports", "7 q\n8 rw - \nend 7 exports", "7 q\n8 rw - a"})
		EXPECT_FALSE(parse_discovered(bad, "q")) << bad;
}

TEST(RnbdadmDiscover, MapsAll)
{
	FakeHost host;
	host.client();
	host.exported += "16 ro - small\n";
	Outcome o = run_line(host, "map --all -s new -p 10.0.0.9 --no-path-timeout 30");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "/dev/rnbd2\n/dev/rnbd3\n");
	ASSERT_EQ(host.writes.size(), 3u);
	EXPECT_EQ(host.writes[0], kFile + " <- sessname=new path=ip:10.0.0.9");
	EXPECT_TRUE(has(host.writes[1], "device_path=data no_path_timeout=30")) << host.writes[1];
	EXPECT_TRUE(has(host.writes[2], "device_path=small access_mode=ro")) << host.writes[2];
	EXPECT_TRUE(has(o.err, "with blanks left out: this session has it already")) << o.err;
	EXPECT_TRUE(has(o.err, "gone left out: the server's device is not there")) << o.err;
	EXPECT_TRUE(has(o.err, "hers left out: another session writes to it")) << o.err;
	// Beside a writer there is room for who reads.
	host.exported = "4096 rw written hers\n";
	EXPECT_EQ(run_line(host, "map --all -s new -a ro").out, "/dev/rnbd4\n");
	// Beside those who share there is room for who shares, and for nobody who wants it alone.
	host.put("/sys/class/rnbd-client/ctl/map_device", "[access_mode=<ro|rw|migration|shared>]");
	host.exported = "4096 shared written gfs\n4096 migration - vm\n";
	o = run_line(host, "map --all -s new -a shared");
	EXPECT_EQ(o.out, "/dev/rnbd5\n");
	EXPECT_TRUE(has(o.err, "vm left out: it is not exported as shared")) << o.err;
	host.exported = "4096 shared written other\n";
	o = run_line(host, "map --all -s new");
	EXPECT_TRUE(has(o.err, "other left out: another session writes to it")) << o.err;
	EXPECT_EQ(run_line(host, "map --all -s new /dev/sda").code, 2);
	EXPECT_EQ(run_line(host, "map -s new").code, 2);
}
