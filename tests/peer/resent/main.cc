// SPDX-License-Identifier: GPL-2.0
// rtrs-resent: what an adapter sends again, when a page is its user's again but not acknowledged.
//
//	rtrs-resent write DEVICE SECONDS	writes a page, fills it anew as soon as the write
//						has ended, and keeps it; prints "over" then
//	rtrs-resent watch NETDEV SECONDS	counts frames with either content of the page
//
// Prints "ready" first; who watches, "again" when the page is sent for the second time.
#include "../capture.hh"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kPage = 4096;
constexpr off_t kOffset = 1 << 20;
constexpr char kWritten[] = "a page that is written to a disk";
constexpr char kReused[] = "a secret of whoever has it next!";
constexpr size_t kPattern = sizeof(kWritten) - 1;
static_assert(sizeof(kReused) == sizeof(kWritten) && kPage % kPattern == 0);

int fail(const char *what)
{
	std::fprintf(stderr, "rtrs-resent: %s: %s\n", what, std::strerror(errno));
	return 2;
}

void say(const char *word)
{
	std::puts(word);
	std::fflush(stdout);
}

void fill(char *page, const char *pattern)
{
	for (size_t at = 0; at < kPage; at += kPattern)
		std::memcpy(page + at, pattern, kPattern);
}

int write_and_reuse(const char *device, seconds keep)
{
	const int fd = open(device, O_RDWR | O_DIRECT);
	void *page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (fd < 0 || page == MAP_FAILED)
		return fail(device);
	fill(static_cast<char *>(page), kWritten);
	say("ready");
	const ssize_t written = pwrite(fd, page, kPage, kOffset);
	fill(static_cast<char *>(page), kReused);
	say("over");
	if (written != static_cast<ssize_t>(kPage))
		return fail("write");
	std::this_thread::sleep_for(keep);
	return 0;
}

int watch(const char *netdev, seconds duration)
{
	peer::Capture cable(netdev);
	say("ready");
	int written = 0;
	int reused = 0;
	bool again = false;
	for (const auto end = Clock::now() + duration; Clock::now() < end;) {
		const auto frame = cable.next(milliseconds(100));
		written += memmem(frame.data(), frame.size(), kWritten, kPattern) != nullptr;
		reused += memmem(frame.data(), frame.size(), kReused, kPattern) != nullptr;
		if (!again && written + reused > 1) {
			again = true;
			say("again");
		}
	}
	std::printf("written %d reused %d\n", written, reused);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const std::string what = argv[1];
	const seconds duration(std::atoi(argv[3]));
	if (what == "write")
		return write_and_reuse(argv[2], duration);
	try {
		return what == "watch" ? watch(argv[2], duration) : 2;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "rtrs-resent: %s\n", e.what());
		return 2;
	}
}
