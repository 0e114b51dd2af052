// SPDX-License-Identifier: GPL-2.0
/*
 * Serves the control channel of a machine in tests/vm: the first process once /usr is there, or a
 * unit of an installed system, whose network is up by then ("installed"). Its argument is the
 * device, or none to look for it. Requests are lines "RUN id seconds" with the script in
 * /share/id.sh; the answer is "DONE id status" with the output in /share/id.out. Scripts run side
 * by side, each in a process group of its own, which is ended at its deadline.
 *
 * A program and no script, because a process costs some machines a tenth of a second and more: a
 * script that is asked for costs one, the shell that runs it, started without copying this process.
 */

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// dash once more, built on a C library that takes a machine a third of the time to start.
constexpr const char *kShell = "/usr/lib/klibc/bin/sh";
constexpr auto kGrace = 3s; // between being asked to end and being killed

struct Job {
	std::string id;
	pid_t pid;
	Clock::time_point deadline;
	int sent = 0; // the signal that it was ended by
};

void say(const char *text)
{
	std::ofstream("/dev/kmsg") << "vmlab: " << text << std::endl;
}

[[noreturn]] void power_off()
{
	execl("/bb/busybox", "busybox", "poweroff", "-f", nullptr);
	_exit(1);
}

[[noreturn]] void give_up(const char *why)
{
	say(why);
	power_off();
}

std::optional<pid_t> start(const std::string &script, const std::string &output)
{
	posix_spawn_file_actions_t files;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, output.c_str(),
					 O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	posix_spawn_file_actions_adddup2(&files, 1, 2);

	posix_spawnattr_t attributes;
	posix_spawnattr_init(&attributes);
	sigset_t none;
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

	std::array<const char *, 3> args{"sh", script.c_str(), nullptr};
	pid_t pid = 0;
	int error = posix_spawn(&pid, kShell, &files, &attributes, const_cast<char **>(args.data()),
				environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	if (error)
		return {};
	return pid;
}

/// The port of QEMU's that is meant for us; empty if there is none.
std::string find_port()
{
	std::error_code ignored;
	for (const auto &entry :
	     std::filesystem::directory_iterator("/sys/class/virtio-ports", ignored)) {
		std::string name;
		std::ifstream(entry.path() / "name") >> name;
		if (name == "vmlab")
			return "/dev/" + entry.path().filename().string();
	}
	return {};
}

class Agent {
public:
	Agent(int port, int signals) : port_(port), signals_(signals) {}

	/// Until the other end has gone.
	void serve()
	{
		answer("READY " + release());
		for (;;) {
			std::array<pollfd, 2> events{{{port_, POLLIN, 0}, {signals_, POLLIN, 0}}};
			if (poll(events.data(), events.size(), until_next_deadline()) < 0 &&
			    errno != EINTR)
				return;
			if (events[1].revents) {
				signalfd_siginfo ignored;
				if (read(signals_, &ignored, sizeof(ignored)) > 0)
					reap();
			}
			enforce_deadlines();
			if (events[0].revents && !receive())
				return;
		}
	}

private:
	static std::string release()
	{
		utsname names{};
		uname(&names);
		return names.release;
	}

	void answer(const std::string &text) const
	{
		std::string line = text + "\n";
		for (std::string_view rest = line; !rest.empty();) {
			ssize_t n = write(port_, rest.data(), rest.size());
			if (n < 0 && errno != EINTR)
				give_up("the control channel takes no answer");
			rest.remove_prefix(n < 0 ? 0 : static_cast<size_t>(n));
		}
	}

	bool receive()
	{
		std::array<char, 4096> data;
		ssize_t n = read(port_, data.data(), data.size());
		if (n <= 0)
			return n < 0 && (errno == EINTR || errno == EAGAIN);
		received_.append(data.data(), static_cast<size_t>(n));
		for (size_t end; (end = received_.find('\n')) != std::string::npos;) {
			std::string line = received_.substr(0, end);
			received_.erase(0, end + 1);
			obey(line);
		}
		return true;
	}

	void obey(const std::string &line)
	{
		size_t first = line.find(' ');
		size_t second = line.find(' ', first + 1);
		int seconds = 0;
		if (first == std::string::npos || second == std::string::npos ||
		    line.substr(0, first) != "RUN" ||
		    std::from_chars(line.data() + second + 1, line.data() + line.size(), seconds)
			    .ec != std::errc())
			return;
		std::string id = line.substr(first + 1, second - first - 1);
		std::optional<pid_t> pid = start("/share/" + id + ".sh", "/share/" + id + ".out");
		if (!pid)
			return answer("DONE " + id + " 127");
		jobs_.push_back({id, *pid, Clock::now() + std::chrono::seconds(seconds)});
	}

	/// Also of processes whose parents have ended, if this is the first one.
	void reap()
	{
		int status = 0;
		for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
			auto job = std::find_if(jobs_.begin(), jobs_.end(),
						[=](const Job &j) { return j.pid == pid; });
			if (job == jobs_.end())
				continue;
			// As timeout(1) has it, whatever the script made of being told to end.
			int code = job->sent == SIGKILL	 ? 128 + SIGKILL
				   : job->sent		 ? 124
				   : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
							 : WEXITSTATUS(status);
			answer("DONE " + job->id + " " + std::to_string(code));
			jobs_.erase(job);
		}
	}

	void enforce_deadlines()
	{
		for (Job &job : jobs_)
			if (job.sent != SIGKILL && Clock::now() >= job.deadline) {
				job.sent = job.sent ? SIGKILL : SIGTERM;
				job.deadline = Clock::now() + kGrace;
				kill(-job.pid, job.sent);
			}
	}

	/// In ms as poll() takes it.
	int until_next_deadline() const
	{
		auto next = Clock::time_point::max();
		for (const Job &job : jobs_)
			if (job.sent != SIGKILL)
				next = std::min(next, job.deadline);
		if (next == Clock::time_point::max())
			return -1;
		auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
		return static_cast<int>(std::clamp<long>(left.count(), 0, 1000000));
	}

	int port_, signals_;
	std::string received_;
	std::vector<Job> jobs_;
};

} // namespace

int main(int argc, char **argv)
{
	std::string port = argc > 1 ? argv[1] : "";
	if (port == "installed") {
		port.clear();
		// A unit's main process is ended early in a shutdown (KillMode=process). Who began
		// it, or watches it, is answered until the last.
		if (fork() > 0)
			for (;;)
				pause();
	} else if (std::system("/usr/bin/dash /network")) // its own unit in an installed system
		say("the network has a problem");
	if (port.empty())
		port = find_port();
	int device = port.empty() ? -1 : open(port.c_str(), O_RDWR | O_CLOEXEC);
	if (device < 0)
		give_up("no control port");

	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, nullptr);
	int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		give_up("no signals");

	say("ready");
	Agent(device, signals).serve();
	give_up("control channel lost");
}
