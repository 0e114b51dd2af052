// SPDX-License-Identifier: GPL-2.0
// Programs that are run by this one, each with a limit of its own.
#include "host.hh"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rnbdadm {

namespace {

// What ends late is asked first.
constexpr double kGrace = 1;

std::vector<char *> pointers(std::vector<std::string> &texts)
{
	std::vector<char *> all;
	for (std::string &text : texts)
		all.push_back(text.data());
	all.push_back(nullptr);
	return all;
}

// In a process group of its own, so that what it has started ends with it. 0 or an errno.
int start(std::vector<std::string> words, std::vector<std::string> environment, pid_t &pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attributes, 0);
	const int error = posix_spawn(&pid, words[0].c_str(), &files, &attributes,
				      pointers(words).data(), pointers(environment).data());
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

bool ends_within(int pidfd, double seconds)
{
	struct pollfd end = {pidfd, POLLIN, 0};
	int ready;
	do
		ready = poll(&end, 1, static_cast<int>(seconds * 1000));
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

} // namespace

ProgramEnd Host::run_program(const std::vector<std::string> &words,
			     const std::vector<std::string> &environment, double seconds) const
{
	ProgramEnd end;
	pid_t pid = 0;
	end.error = start(words, environment, pid);
	if (end.error)
		return end;
	// The header of glibc 2.36 declares pidfd_open() for C alone.
	const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
	end.late = pidfd < 0 || !ends_within(pidfd, seconds);
	if (end.late) {
		kill(-pid, SIGTERM);
		if (pidfd >= 0)
			ends_within(pidfd, kGrace);
		kill(-pid, SIGKILL);
	}
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return end;
}

} // namespace rnbdadm
