// SPDX-License-Identifier: GPL-2.0
// Sessions whose disks are in use.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

// As the last path of a disk that is in use: its I/O would fail or wait.
TEST(RnbdadmSession, DisconnectSparesDisks)
{
	FakeHost host;
	host.client();
	host.session("idle");
	host.path("idle", "ip:10.0.0.2", "ip:10.0.0.9", "mlx5_0", "connected");
	Outcome o = run_line(host, "session disconnect store");
	EXPECT_EQ(o.code, 6);
	EXPECT_TRUE(has(o.err, "cannot disconnect session store: 2 device(s) use it")) << o.err;
	EXPECT_TRUE(has(o.err, "rnbd0 (mounted on /srv/data)")) << o.err;
	EXPECT_TRUE(has(o.err, "--force")) << o.err;
	// None of several, if one is refused: all are looked at first.
	EXPECT_EQ(run_line(host, "session disconnect idle store").code, 6);
	EXPECT_TRUE(host.writes.empty());
	EXPECT_EQ(run_line(host, "session disconnect idle").code, 0);
	EXPECT_EQ(host.writes.size(), 1u);
	EXPECT_EQ(run_line(host, "session disconnect store --force").code, 0);
	EXPECT_EQ(host.writes.size(), 3u);
	// Nothing is connected any more, so nothing is lost.
	EXPECT_EQ(run_line(host, "session disconnect store").code, 0);
}
