// SPDX-License-Identifier: GPL-2.0
// The machine that is administered.
#include "host.hh"

#include "failure.hh"
#include "text.hh"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <memory>

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

namespace {

bool is_absent(int error)
{
	// The last two: an object that goes away at this moment.
	return error == ENOENT || error == ENOTDIR || error == ENODEV || error == ENXIO;
}

[[noreturn]] void unreadable(const std::string &path, int error)
{
	throw Failure(exit_of(error),
		      fmt::format("cannot read {}: {}", path, words_of(error, Action::Configure)));
}

} // namespace

std::optional<std::string> Host::read(const std::string &path) const
{
	int fd = open(place(path).c_str(), O_RDONLY | O_CLOEXEC);
	if (fd < 0 && is_absent(errno))
		return std::nullopt;
	if (fd < 0)
		unreadable(path, errno);
	std::string text;
	char part[4096];
	ssize_t n;
	while ((n = ::read(fd, part, sizeof part)) > 0)
		text.append(part, static_cast<std::size_t>(n));
	close(fd);
	// What a module says to a read is its word about one value: it has none.
	if (n < 0)
		return std::nullopt;
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
	struct stat status = {};
	if (!lstat(place(path).c_str(), &status))
		return true;
	if (!is_absent(errno))
		unreadable(path, errno);
	return false;
}

std::vector<std::string> Host::list(const std::string &path) const
{
	std::vector<std::string> names;
	std::error_code error;
	for (fs::directory_iterator at(place(path), error), end; !error && at != end;
	     at.increment(error))
		names.push_back(at->path().filename().string());
	if (error && !is_absent(error.value()))
		unreadable(path, error.value());
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

namespace {

// How long the kernel may take to let go of a write that was given up.
constexpr double kLettingGo = 2;

// A child that writes, so that a write that the kernel keeps does not keep this program: the child
// is left behind then, and ends when the kernel lets go of it.
class Writer {
public:
	Writer(const std::string &place, const std::string &text)
	{
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0) {
			answer_ = errno;
			return;
		}
		child_ = fork();
		if (child_ < 0)
			answer_ = errno;
		if (child_ == 0) {
			int error = write_now(place, text);
			ssize_t told = ::write(ends[1], &error, sizeof error);
			_exit(told == sizeof error ? 0 : 1);
		}
		close(ends[1]);
		end_ = ends[0];
	}
	Writer(const Writer &) = delete;
	Writer &operator=(const Writer &) = delete;
	~Writer()
	{
		if (end_ >= 0)
			close(end_);
	}

	// Nothing while the kernel is at it.
	std::optional<int> answer() const { return answer_; }
	int end() const { return end_; }

	// The child said something, or ended without.
	void hear()
	{
		int error = EIO;
		if (::read(end_, &error, sizeof error) != sizeof error)
			error = given_up_ ? Host::kCancelled : EIO;
		waitpid(child_, nullptr, 0);
		answer_ = error;
	}
	// Ends the child if the kernel waits in a way that a signal may end.
	void give_up()
	{
		given_up_ = true;
		kill(child_, SIGTERM);
	}

private:
	pid_t child_ = -1;
	int end_ = -1;
	bool given_up_ = false;
	std::optional<int> answer_;
};

using Writers = std::vector<std::unique_ptr<Writer>>;

std::size_t unanswered(const Writers &writers)
{
	return static_cast<std::size_t>(std::count_if(writers.begin(), writers.end(),
						      [](const auto &w) { return !w->answer(); }));
}

// Until all have an answer, at most `seconds`.
void hear_all(const Host &host, Writers &writers, double seconds,
	      const std::function<void(double)> &tell)
{
	double begin = host.now();
	while (unanswered(writers)) {
		double passed = host.now() - begin;
		if (passed >= seconds)
			return;
		if (tell && passed >= 1)
			tell(passed);
		std::vector<struct pollfd> waits;
		std::vector<Writer *> of;
		for (auto &writer : writers)
			if (!writer->answer()) {
				waits.push_back({writer->end(), POLLIN, 0});
				of.push_back(writer.get());
			}
		int ms = static_cast<int>(std::min(seconds - passed, 1.0) * 1000) + 1;
		if (poll(waits.data(), waits.size(), ms) <= 0)
			continue;
		for (std::size_t i = 0; i < waits.size(); i++)
			if (waits[i].revents)
				of[i]->hear();
	}
}

} // namespace

int Host::write(const std::string &path, const std::string &text, double seconds)
{
	return Host::write_all({{path, text}}, seconds)[0];
}

std::vector<int> Host::write_all(const std::vector<Order> &orders, double seconds)
{
	Writers writers;
	for (const Order &order : orders)
		writers.push_back(std::make_unique<Writer>(place(order.path), order.text));
	auto tell = [&](double passed) {
		if (on_wait)
			on_wait(passed, unanswered(writers));
	};
	hear_all(*this, writers, seconds, tell);
	for (auto &writer : writers)
		if (!writer->answer())
			writer->give_up();
	hear_all(*this, writers, kLettingGo, nullptr);
	std::vector<int> answers;
	for (auto &writer : writers)
		answers.push_back(writer->answer().value_or(kGoesOn));
	return answers;
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

int Host::make_link(const std::string &path, const std::string &target)
{
	std::error_code error;
	const fs::path link = place(path);
	fs::create_directories(link.parent_path(), error);
	if (!error)
		fs::remove(link, error);
	if (!error)
		fs::create_symlink(target, link, error);
	return error.value();
}

FileKind Host::kind_of(const std::string &path) const
{
	constexpr unsigned kPermissions = 07777;
	struct stat status = {};
	if (stat(place(path).c_str(), &status) < 0)
		return {.error = errno};
	return {.folder = S_ISDIR(status.st_mode),
		.plain = S_ISREG(status.st_mode),
		.block = S_ISBLK(status.st_mode),
		.owner = status.st_uid,
		.mode = status.st_mode & kPermissions};
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

double Host::wall_clock() const
{
	struct timespec t = {};
	clock_gettime(CLOCK_REALTIME, &t);
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
