// SPDX-License-Identifier: GPL-2.0
// Files of the administrator that are replaced as a whole.
#include "file_status.hh"

#include "host_files.hh"

#include <cerrno>

#include <unistd.h>

using rnbdadm::FileDraft;

namespace {

const std::string kFile = "/etc/rnbd/rnbd.conf";

} // namespace

TEST(RnbdadmFileDraft, OwnerModeAndLinkStay)
{
	FakeHost host;
	host.put("/srv/of-git.conf", "old");
	fs::create_directories(host.place("/etc/rnbd"));
	fs::create_symlink("../../srv/of-git.conf", host.place(kFile));
	chmod(host.place("/srv/of-git.conf").c_str(), 0640);
	// Root alone may give files away.
	const bool is_root = !geteuid();
	if (is_root) {
		ASSERT_EQ(chown(host.place("/srv/of-git.conf").c_str(), 7, 8), 0);
	}
	const ino_t before = look(host, kFile).st_ino;
	{
		FileDraft given_up(host, kFile, "new\n");
		EXPECT_EQ(given_up.error(), 0);
		EXPECT_EQ(host.list("/srv").size(), 2u);
	}
	EXPECT_EQ(host.list("/srv"), std::vector<std::string>{"of-git.conf"});
	EXPECT_EQ(host.text(kFile), "old");
	FileDraft draft(host, kFile, "new\n");
	EXPECT_EQ(draft.commit(), 0);
	EXPECT_EQ(host.text("/srv/of-git.conf"), "new");
	EXPECT_TRUE(fs::is_symlink(host.place(kFile)));
	const struct stat now = look(host, kFile);
	EXPECT_NE(now.st_ino, before);
	EXPECT_EQ(now.st_mode & 07777, 0640u);
	if (is_root) {
		EXPECT_EQ(now.st_uid, 7u);
		EXPECT_EQ(now.st_gid, 8u);
	}
	EXPECT_EQ(host.list("/srv"), std::vector<std::string>{"of-git.conf"});
	EXPECT_EQ(host.list("/etc/rnbd"), std::vector<std::string>{"rnbd.conf"});
}

TEST(RnbdadmFileDraft, WhatCannotBeReplacedIsKnownBefore)
{
	FakeHost host;
	EXPECT_EQ(FileDraft(host, "/none/x", "").error(), ENOENT);
	fs::create_directories(host.place("/folder"));
	EXPECT_EQ(FileDraft(host, "/folder", "").error(), EISDIR);
	fs::create_symlink("round", host.place("/round"));
	EXPECT_EQ(FileDraft(host, "/round", "").error(), ELOOP);
	ASSERT_EQ(mkfifo(host.place("/pipe").c_str(), 0600), 0);
	EXPECT_EQ(FileDraft(host, "/pipe", "").error(), EINVAL);
	// A link to nothing is made something.
	fs::create_symlink("folder/later", host.place("/link"));
	EXPECT_EQ(FileDraft(host, "/link", "now\n").commit(), 0);
	EXPECT_EQ(host.text("/folder/later"), "now");
}

TEST(RnbdadmFileDraft, AConfigurationThatIsSavedAnewKeepsThemToo)
{
	FakeHost host;
	host.client();
	host.put("/srv/of-git.conf", "old");
	fs::create_directories(host.place("/etc/rnbd"));
	fs::create_symlink("../../srv/of-git.conf", host.place(kFile));
	chmod(host.place("/srv/of-git.conf").c_str(), 0600);
	EXPECT_EQ(run_line(host, "save --force --file " + kFile).code, 0);
	EXPECT_TRUE(fs::is_symlink(host.place(kFile)));
	EXPECT_EQ(look(host, kFile).st_mode & 07777, 0600u);
	EXPECT_TRUE(host.text("/srv/of-git.conf").starts_with("# Written by rnbdadm save"));
}
