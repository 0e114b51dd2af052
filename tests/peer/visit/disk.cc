// SPDX-License-Identifier: GPL-2.0
#include "disk.hh"

#include "../lie/lie.hh"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/pr.h>
#include <memory>
#include <random>
#include <sys/ioctl.h>
#include <unistd.h>

namespace peer {

namespace fs = std::filesystem;

namespace {

constexpr size_t kBlock = 4096;
constexpr off_t kOffset = kLieSector * 512;
const std::string kControl = "/sys/class/rnbd-client/ctl";

int put(const std::string &file, const std::string &text)
{
	const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	const ssize_t n = write(fd, text.data(), text.size());
	const int code = n < 0 ? errno : 0;
	close(fd);
	return code;
}

} // namespace

MappedDisk::MappedDisk(const Addresses &addresses, std::string session)
    : addresses_(addresses), session_(std::move(session))
{
}

int MappedDisk::map(uint16_t port, const std::string &options)
{
	const int code = put(kControl + "/map_device",
			     "sessname=" + session_ + " dest_port=" + std::to_string(port) +
				 " path=ip:" + addresses_.client + "@ip:" + addresses_.server +
				 " device_path=/dev/lie " + options + "\n");
	if (!code)
		disk_ = fs::read_symlink(kControl + "/devices/!dev!lie@" + session_)
			    .filename()
			    .string();
	return code;
}

int MappedDisk::unmap(const char *mode)
{
	return put("/sys/block/" + disk_ + "/rnbd/unmap_device", mode);
}

int MappedDisk::discover()
{
	return put(kControl + "/discover", "sessname=" + session_ + "\n");
}

// A status that is none of errno is a conflict.
int MappedDisk::reserve() const
{
	const int fd = open(("/dev/" + disk_).c_str(), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	pr_registration registration{.old_key = 0, .new_key = 1, .flags = 0, .__pad = 0};
	const int status = ioctl(fd, IOC_PR_REGISTER, &registration);
	const int code = status < 0 ? -errno : status;
	close(fd);
	return code;
}

int MappedDisk::set_request_timeout(unsigned seconds) const
{
	return put("/sys/class/rtrs-client/" + session_ + "/request_timeout",
		   std::to_string(seconds) + "\n");
}

int MappedDisk::last_error() const
{
	int code = 0;
	for (auto &path : fs::directory_iterator("/sys/class/rtrs-client/" + session_ + "/paths"))
		std::ifstream(path.path() / "last_error") >> code;
	return code;
}

int MappedDisk::heartbeat_interval() const
{
	int ms = 0;
	std::ifstream("/sys/class/rtrs-client/" + session_ + "/heartbeat_interval_ms") >> ms;
	return ms;
}

int MappedDisk::command(const std::string &name) const
{
	for (auto &path : fs::directory_iterator("/sys/class/rtrs-client/" + session_ + "/paths"))
		return put(path.path().string() + "/" + name, "1\n");
	return ENOENT;
}

std::string MappedDisk::attribute(const std::string &name) const
{
	std::ifstream in("/sys/block/" + disk_ + "/" + name);
	std::string line;
	std::getline(in, line);
	return line;
}

uint64_t MappedDisk::number(const std::string &name) const
{
	return std::strtoull(attribute(name).c_str(), nullptr, 10);
}

bool MappedDisk::session_exists() const
{
	return fs::exists("/sys/class/rtrs-client/" + session_);
}

// Past the page cache, in one request.
bool MappedDisk::transfer(bool write, void *block) const
{
	const int fd = open(("/dev/" + disk_).c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return false;
	std::unique_ptr<void, decltype(&std::free)> aligned(std::aligned_alloc(kBlock, kBlock),
							    &std::free);
	std::memcpy(aligned.get(), block, kBlock);
	const ssize_t n = write ? pwrite(fd, aligned.get(), kBlock, kOffset)
				: pread(fd, aligned.get(), kBlock, kOffset);
	close(fd);
	std::memcpy(block, aligned.get(), kBlock);
	return n == static_cast<ssize_t>(kBlock);
}

bool MappedDisk::write_block()
{
	thread_local std::minstd_rand random(std::random_device{}());
	for (auto &b : written_)
		b = static_cast<unsigned char>(random() >> 8);
	return transfer(true, written_);
}

bool MappedDisk::read_back()
{
	unsigned char read[kBlock];
	std::memset(read, 0, sizeof(read));
	return transfer(false, read) && !std::memcmp(read, written_, kBlock);
}

} // namespace peer
