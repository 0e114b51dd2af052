// SPDX-License-Identifier: GPL-2.0
// The machine itself: writes that the kernel keeps, many at once, what cannot be read.
#include "fake.hh"

#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using rnbdadm::Host;

// Files like those of sysfs that keep a writer: FIFOs which nobody reads.
class Keeping : private Folder, public Host {
public:
	Keeping() : Folder(), Host(Folder::path()) {}

	void keep(const std::string &path) const
	{
		ASSERT_EQ(mkfifo(place(path).c_str(), 0600), 0);
	}
	void let_go(const std::string &path) const
	{
		int fd = open(place(path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		ASSERT_GE(fd, 0);
		close(fd);
	}
	void plain(const std::string &path) const
	{
		int fd = open(place(path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		ASSERT_GE(fd, 0);
		close(fd);
	}
};

} // namespace

TEST(RnbdadmHost, TheAnswerIsTheKernels)
{
	Keeping host;
	host.plain("/yes");
	EXPECT_EQ(host.write("/yes", "1", 600), 0);
	EXPECT_EQ(host.text("/yes"), "1");
	EXPECT_EQ(host.write("/no", "1", 600), ENOENT);
}

// What the kernel keeps is given up, one limit for all, and what it decides is told.
TEST(RnbdadmHost, ManyAtOnce)
{
	Keeping host;
	host.keep("/a");
	host.plain("/b");
	host.keep("/c");
	EXPECT_EQ(host.write_all({{"/a", "1"}, {"/b", "2"}, {"/c", "3"}, {"/d", "4"}}, 3),
		  (std::vector<int>{Host::kCancelled, 0, Host::kCancelled, ENOENT}));
	EXPECT_EQ(host.text("/b"), "2");
}

TEST(RnbdadmHost, WhatDoesNotLetGoGoesOn)
{
	Keeping host;
	host.keep("/a");
	auto before = std::signal(SIGTERM, SIG_IGN);
	EXPECT_EQ(host.write("/a", "1", 0.1), Host::kGoesOn);
	std::signal(SIGTERM, before);
	host.let_go("/a");
}

// Of this machine's own resolver: what every machine knows.
TEST(RnbdadmHost, NamesHaveAddresses)
{
	const rnbdadm::Host host;
	const rnbdadm::Resolved found = host.resolve("localhost");
	ASSERT_FALSE(found.addresses.empty()) << found.error;
	for (const std::string &address : found.addresses)
		EXPECT_TRUE(address == "::1" || address.starts_with("127.")) << address;
	const rnbdadm::Resolved none = host.resolve("no.such.name.invalid");
	EXPECT_TRUE(none.addresses.empty());
	EXPECT_FALSE(none.error.empty());
}
