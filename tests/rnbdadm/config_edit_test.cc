// SPDX-License-Identifier: GPL-2.0
// Sections in a file's text, and one process at a time.
#include "file_status.hh"

#include "config_edit.hh"

using rnbdadm::FileLock;
using rnbdadm::with_section;
using rnbdadm::without_section;

namespace {

const std::string kFile = "/etc/rnbd/rnbd.conf";

} // namespace

TEST(RnbdadmEdit, ASectionComesToTheEnd)
{
	struct Row {
		const char *before, *after;
	};
	const Row rows[] = {
	    {"", "[x]\n"},
	    {"# a", "# a\n\n[x]\n"},
	    {"[a]\nb = c\n", "[a]\nb = c\n\n[x]\n"},
	    {"[a]\nb = c\n\n", "[a]\nb = c\n\n[x]\n"},
	    {"[a]\r\nb = c\r\n", "[a]\r\nb = c\r\n\n[x]\n"},
	};
	for (const Row &row : rows)
		EXPECT_EQ(with_section(row.before, "[x]\n"), row.after);
}

TEST(RnbdadmEdit, ASectionGoesAndCommentsStay)
{
	struct Row {
		std::size_t line;
		const char *before, *after;
	};
	const Row rows[] = {
	    {1, "[x]\na = b\n", ""},
	    {1, "[x]", ""},
	    {1, "[x]\na = b\n\n[y]\n", "[y]\n"},
	    {2, "# of x\n[x]\na = b\n# of y\n[y]\n", "# of x\n# of y\n[y]\n"},
	    {3, "[w]\n\n[x]\n; old\na = b\n\n# left\n", "[w]\n\n# left\n"},
	    {3, "[w]\n\n[x]\na = b\n\n\n[y]\n", "[w]\n\n\n[y]\n"},
	    {3, "[w]\n\n  [x]\na = b", "[w]\n"},
	    {3, "[w]\n\n[x]\n\na = b\n\n  [y]\n", "[w]\n\n  [y]\n"},
	};
	for (const Row &row : rows)
		EXPECT_EQ(without_section(row.before, row.line), row.after) << row.before;
}

TEST(RnbdadmFileLock, OneAtATime)
{
	FakeHost host;
	host.client();
	{
		FileLock other(host, "/run/rnbd/config.lock");
		ASSERT_EQ(other.take(), 0);
		// Others on this machine cannot keep it.
		EXPECT_EQ(look(host, "/run/rnbd/config.lock").st_mode & 0777, 0600u);
		Outcome o = run_line(host, "map /dev/sda -s store --save --timeout 5");
		EXPECT_EQ(o.code, 7);
		EXPECT_NE(
		    o.err.find("another rnbdadm has been changing /etc/rnbd/rnbd.conf for 5 s"),
		    std::string::npos)
		    << o.err;
		// Nor does it take for unwanted what the other one maps, and has not saved yet.
		host.put(kFile, "");
		EXPECT_EQ(run_line(host, "apply --prune --others-too --timeout 5").code, 7);
		EXPECT_TRUE(host.writes.empty());
		EXPECT_EQ(run_line(host, "apply").code, 0);
	}
	EXPECT_EQ(run_line(host, "map /dev/sda -s store --save").code, 0);
}
