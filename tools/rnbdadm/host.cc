// SPDX-License-Identifier: GPL-2.0
// The machine that is administered.
#include "host.hh"

#include "text.hh"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace rnbdadm {

std::optional<std::string> Host::read(const std::string &path) const
{
	std::ifstream stream(place(path));
	std::ostringstream content;
	if (!stream || !(content << stream.rdbuf()))
		return stream && stream.peek() == EOF && exists(path)
			   ? std::optional<std::string>("")
			   : std::nullopt;
	std::string text = content.str();
	if (!text.empty() && text.back() == '\n')
		text.pop_back();
	return text;
}

std::string Host::text(const std::string &path) const
{
	return read(path).value_or("");
}

std::optional<std::uint64_t> Host::number(const std::string &path) const
{
	return parse_number(trim(text(path)));
}

std::optional<std::int64_t> Host::integer(const std::string &path) const
{
	return parse_signed(trim(text(path)));
}

bool Host::exists(const std::string &path) const
{
	std::error_code error;
	return fs::exists(fs::symlink_status(place(path), error));
}

std::vector<std::string> Host::list(const std::string &path) const
{
	std::vector<std::string> names;
	std::error_code error;
	for (fs::directory_iterator at(place(path), error), end; !error && at != end;
	     at.increment(error))
		names.push_back(at->path().filename().string());
	std::sort(names.begin(), names.end(), natural_less);
	return names;
}

std::string Host::link(const std::string &path) const
{
	std::error_code error;
	fs::path target = fs::read_symlink(place(path), error);
	return error ? "" : target.filename().string();
}

namespace {

int write_now(const std::string &place, const std::string &text)
{
	int fd = open(place.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
	if (fd < 0)
		return errno;
	std::string line = text + '\n';
	ssize_t n = ::write(fd, line.data(), line.size());
	int error = n == static_cast<ssize_t>(line.size()) ? 0 : n < 0 ? errno : EIO;
	close(fd);
	return error;
}

} // namespace

// A child writes, so that a write that the kernel keeps does not keep this program: the child is
// left behind then, and ends when the kernel lets go of it.
int Host::write(const std::string &path, const std::string &text, double seconds)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	pid_t child = fork();
	if (child < 0) {
		int error = errno;
		close(ends[0]);
		close(ends[1]);
		return error;
	}
	if (child == 0) {
		int error = write_now(place(path), text);
		ssize_t told = ::write(ends[1], &error, sizeof error);
		_exit(told == sizeof error ? 0 : 1);
	}
	close(ends[1]);
	int error = EIO;
	double begin = Host::now();
	struct pollfd wait = {ends[0], POLLIN, 0};
	int ready = 0;
	for (double passed = 0; ready <= 0 && passed < seconds; passed = Host::now() - begin) {
		if (on_wait && passed >= 1)
			on_wait(passed);
		ready =
		    poll(&wait, 1, static_cast<int>(std::min(seconds - passed, 1.0) * 1000) + 1);
	}
	if (ready > 0) {
		if (::read(ends[0], &error, sizeof error) != sizeof error)
			error = EIO;
		waitpid(child, nullptr, 0);
	} else {
		error = ETIMEDOUT;
		// Ends the child if the kernel waits in a way that a signal may end.
		kill(child, SIGTERM);
	}
	close(ends[0]);
	return error;
}

bool Host::may_write(const std::string &path) const
{
	return !access(place(path).c_str(), W_OK) || errno != EACCES;
}

int Host::make_folder(const std::string &path)
{
	return mkdir(place(path).c_str(), 0755) < 0 ? errno : 0;
}

int Host::remove_folder(const std::string &path)
{
	return rmdir(place(path).c_str()) < 0 ? errno : 0;
}

int Host::replace_file(const std::string &path, const std::string &content)
{
	std::error_code error;
	fs::path target = place(path);
	fs::create_directories(target.parent_path(), error);
	if (error)
		return error.value();
	// In the same folder: a rename does not cross file systems. The name is unique for each
	// process, and hidden from collectors that read *.prom.
	fs::path draft = target.parent_path() /
			 ("." + target.filename().string() + "." + std::to_string(getpid()));
	{
		std::ofstream stream(draft, std::ios::trunc);
		stream << content;
		stream.close();
		if (!stream) {
			int failed = errno ? errno : EIO;
			fs::remove(draft, error);
			return failed;
		}
	}
	fs::rename(draft, target, error);
	return error.value();
}

int Host::remove_file(const std::string &path)
{
	return unlink(place(path).c_str()) < 0 && errno != ENOENT ? errno : 0;
}

std::vector<NetAddress> Host::addresses() const
{
	std::vector<NetAddress> found;
	struct ifaddrs *all = nullptr;
	if (getifaddrs(&all) < 0)
		return found;
	for (struct ifaddrs *at = all; at; at = at->ifa_next) {
		if (!at->ifa_addr)
			continue;
		int family = at->ifa_addr->sa_family;
		if (family != AF_INET && family != AF_INET6)
			continue;
		char literal[NI_MAXHOST];
		socklen_t size =
		    family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
		if (getnameinfo(at->ifa_addr, size, literal, sizeof literal, nullptr, 0,
				NI_NUMERICHOST))
			continue;
		NetAddress address;
		address.netdev = at->ifa_name;
		address.address = literal;
		address.up = (at->ifa_flags & IFF_RUNNING) != 0;
		address.link_local = std::string_view(literal).starts_with("fe80:");
		found.push_back(address);
	}
	freeifaddrs(all);
	return found;
}

double Host::now() const
{
	struct timespec t = {};
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void Host::sleep(double seconds)
{
	struct timespec t = {};
	t.tv_sec = static_cast<time_t>(seconds);
	t.tv_nsec = static_cast<long>((seconds - static_cast<double>(t.tv_sec)) * 1e9);
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

} // namespace rnbdadm
