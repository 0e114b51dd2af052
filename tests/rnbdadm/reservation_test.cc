// SPDX-License-Identifier: GPL-2.0
// Who has reserved which disk of this server, and the end of that.
#include "fake.hh"

namespace {

const std::string kCtl = "/sys/class/rnbd-server/ctl/";

void give(FakeHost &host)
{
	host.put(kCtl + "reservations", "sdb write-exclusive-reg-only 7\n"
					"sdb node1 cluster 0xa1 holder\n"
					"sdb node2 - 0xa2\n"
					"sdc none 1\n"
					"sdc node1 - 0xa1");
	host.put(kCtl + "clear_reservations", "Usage: echo <disk> > clear_reservations");
}

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(RnbdadmReservations, List)
{
	FakeHost host;
	host.server();
	give(host);
	EXPECT_EQ(run_line(host, "server reservations --no-header -c all").out,
		  "sdb  write-exclusive-reg-only  7  node1  0xa1  yes  cluster\n"
		  "sdb  write-exclusive-reg-only  7  node2  0xa2  no   -\n"
		  "sdc  none                      1  node1  0xa1  no   -\n");
	EXPECT_EQ(run_line(host, "server reservations sdc --no-header -o csv").out,
		  "sdc,none,node1,0xa1,no\n");
	EXPECT_EQ(run_line(host, "server reservations /dev/sdc --no-header -o csv").out,
		  "sdc,none,node1,0xa1,no\n");
	const std::string json = run_line(host, "server reservations -o json").out;
	EXPECT_TRUE(has(json, "\"holder\": true")) << json;
	EXPECT_TRUE(has(json, "\"proven\": null")) << json;
	Outcome o = run_line(host, "server reservations sdd");
	EXPECT_EQ(o.code, 3);
	EXPECT_TRUE(has(o.err, "did you mean 'sdb'")) << o.err;
	EXPECT_TRUE(host.writes.empty());
}

TEST(RnbdadmReservations, Clear)
{
	FakeHost host;
	host.server();
	give(host);
	EXPECT_EQ(run_line(host, "server clear-reservations").code, 2);
	EXPECT_EQ(run_line(host, "server clear-reservations sdd").code, 3);
	EXPECT_EQ(run_line(host, "server clear-reservations sdb --dry-run").code, 0);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "server clear-reservations /dev/sdb").code, 0);
	EXPECT_EQ(host.writes.back(), kCtl + "clear_reservations <- sdb");
	host.errors[kCtl + "clear_reservations"] = EBUSY;
	Outcome o = run_line(host, "server clear-reservations sdb");
	EXPECT_NE(o.code, 0);
	EXPECT_TRUE(has(o.err, "the disk is being asked by somebody else")) << o.err;
}

TEST(RnbdadmReservations, OlderModulesHaveNone)
{
	FakeHost host;
	EXPECT_EQ(run_line(host, "server reservations").code, 9);
	host.server();
	for (const char *line : {"server reservations", "server clear-reservations sdb"}) {
		Outcome o = run_line(host, line);
		EXPECT_EQ(o.code, 9) << line;
		EXPECT_TRUE(has(o.err, "too old for this")) << o.err;
	}
	host.put(kCtl + "reservations", "");
	EXPECT_EQ(run_line(host, "server reservations --no-header").out, "");
}
