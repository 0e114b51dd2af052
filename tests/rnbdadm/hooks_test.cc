// SPDX-License-Identifier: GPL-2.0
// Programs that are run for events: real ones, of the fake machine.
#include "fake.hh"

#include <sys/stat.h>

namespace {

const std::string kFolder = "/etc/rnbd/events.d/";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

void put_hook(FakeHost &host, const std::string &name, const std::string &script, int mode = 0755)
{
	host.put(kFolder + name, "#!/bin/sh\nlog=" + host.place("/log") + "\n" + script);
	chmod(host.place(kFolder + name).c_str(), static_cast<mode_t>(mode));
}

void lose_path(FakeHost &host)
{
	host.happens.push_back({1795673626.0,
				{{"ACTION", "change"},
				 {"SUBSYSTEM", "rtrs-client"},
				 {"DEVPATH", "/devices/virtual/rtrs-client/store"},
				 {"RTRS_EVENT", "path-lost"},
				 {"RTRS_SESSION", "store"},
				 {"RTRS_PATH", "ip:10.0.0.2@ip:10.0.0.1"},
				 {"RTRS_REASON", "no heartbeat"}}});
}

} // namespace

TEST(RnbdadmHooks, EachRunsForEachEventWithWhatItIsAbout)
{
	FakeHost host;
	lose_path(host);
	host.happens.push_back({1795673627.0,
				{{"ACTION", "offline"},
				 {"SUBSYSTEM", "block"},
				 {"DEVPATH", "/devices/virtual/block/rnbd0"},
				 {"RNBD_SESSION", "store"}}});
	put_hook(host, "10-first",
		 "echo \"first $1 $2 $RNBD_SESSION $RNBD_PATH [$RNBD_REASON]\" >>$log");
	put_hook(host, "20-second", "read line || echo second $RNBD_EVENT ${HOME-nothing} >>$log");
	put_hook(host, "30-not-executable", "echo never >>$log", 0644);
	put_hook(host, "40-old.dpkg-old", "echo never >>$log");
	put_hook(host, "50-editor~", "echo never >>$log");
	Outcome o = run_line(host, "monitor --run /etc/rnbd/events.d");
	EXPECT_EQ(o.code, 0);
	EXPECT_EQ(o.err, "");
	EXPECT_EQ(host.text("/log"),
		  "first path-lost store store ip:10.0.0.2@ip:10.0.0.1 [no heartbeat]\n"
		  "second path-lost nothing\n"
		  "first disk-offline rnbd0 store  []\n"
		  "second disk-offline nothing");
	EXPECT_TRUE(has(o.out, "path-lost")) << o.out;
}

// Whatever one of them does, the others and the next event have their turn.
TEST(RnbdadmHooks, WhatIsWrongWithOneIsSaid)
{
	FakeHost host;
	lose_path(host);
	put_hook(host, "10-fails", "exit 3");
	put_hook(host, "20-others", "echo never >>$log", 0777);
	host.put(kFolder + "30-nothing", "#!/no/such/program");
	chmod(host.place(kFolder + "30-nothing").c_str(), 0755);
	host.happens.push_back(host.happens[0]);
	// It does not listen, and has a child that would go on.
	put_hook(host, "40-late", "trap '' TERM\nsleep 1000 &\nwait\nsleep 1000");
	put_hook(host, "50-last", "echo last >>$log");
	Outcome o = run_line(host, "monitor --run /etc/rnbd/events.d --run-limit 1");
	EXPECT_EQ(o.code, 0);
	EXPECT_EQ(host.text("/log"), "last\nlast");
	for (const char *part :
	     {"10-fails: exit code 3, for path-lost of store", "20-others: others than root",
	      "30-nothing: No such file", "40-late: ended after 1 s"})
		EXPECT_TRUE(has(o.err, part)) << part << "\n" << o.err;
	EXPECT_EQ(run_line(host, "monitor --run events.d").code, 2);
	// One program.
	EXPECT_EQ(run_line(host, "monitor --run /etc/rnbd/events.d/50-last --count 1").err, "");
	EXPECT_EQ(host.text("/log"), "last\nlast\nlast");
}
