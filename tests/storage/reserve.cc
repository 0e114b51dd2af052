// SPDX-License-Identifier: GPL-2.0
// reserve: persistent reservations of a block device by the kernel's ioctls, as a program of a
// cluster uses them. (util-linux has blkpr from 2.39 on.)
//
//	reserve DEVICE register OLD NEW		NEW 0: no more
//	reserve DEVICE ignore NEW		whatever key is registered
//	reserve DEVICE reserve KEY TYPE		TYPE: 1 to 6, as enum pr_type
//	reserve DEVICE release KEY TYPE
//	reserve DEVICE preempt KEY VICTIM TYPE
//	reserve DEVICE abort KEY VICTIM TYPE
//	reserve DEVICE clear KEY
//
// Prints "ok", "conflict", "status N", or what errno says.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/pr.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

constexpr int kConflict = 0x18; // PR_STS_RESERVATION_CONFLICT

template <class T> int call(int fd, unsigned long number, T argument)
{
	return ioctl(fd, number, &argument);
}

// -1 and errno, or a status.
int run(int fd, const std::string &command, const std::vector<unsigned long long> &n)
{
	const size_t count = n.size();
	const auto type = [&](size_t i) {
		return static_cast<__u32>(n[i]);
	};
	if (command == "register" && count == 2)
		return call(fd, IOC_PR_REGISTER, pr_registration{n[0], n[1], 0, 0});
	if (command == "ignore" && count == 1)
		return call(fd, IOC_PR_REGISTER, pr_registration{0, n[0], PR_FL_IGNORE_KEY, 0});
	if (command == "reserve" && count == 2)
		return call(fd, IOC_PR_RESERVE, pr_reservation{n[0], type(1), 0});
	if (command == "release" && count == 2)
		return call(fd, IOC_PR_RELEASE, pr_reservation{n[0], type(1), 0});
	if (command == "preempt" && count == 3)
		return call(fd, IOC_PR_PREEMPT, pr_preempt{n[0], n[1], type(2), 0});
	if (command == "abort" && count == 3)
		return call(fd, IOC_PR_PREEMPT_ABORT, pr_preempt{n[0], n[1], type(2), 0});
	if (command == "clear" && count == 1)
		return call(fd, IOC_PR_CLEAR, pr_clear{n[0], 0, 0});
	errno = ENOEXEC;
	return -1;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 4) {
		std::fprintf(stderr, "usage: reserve DEVICE COMMAND NUMBER...\n");
		return 2;
	}
	const int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		std::perror(argv[1]);
		return 1;
	}
	std::vector<unsigned long long> numbers;
	for (int i = 3; i < argc; i++)
		numbers.push_back(std::strtoull(argv[i], nullptr, 0));
	const int status = run(fd, argv[2], numbers);
	if (!status)
		std::puts("ok");
	else if (status == kConflict)
		std::puts("conflict");
	else if (status > 0)
		std::printf("status %d\n", status);
	else
		std::puts(std::strerror(errno));
	close(fd);
	return 0;
}
