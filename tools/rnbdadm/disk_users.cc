// SPDX-License-Identifier: GPL-2.0
// Who uses disks of this machine.
#include "disk_users.hh"

#include "text.hh"

#include <algorithm>
#include <cctype>

namespace rnbdadm {

namespace {

// The kernel's name of the device that a path leads to: in /dev one link does.
std::string kernel_name(const Host &host, const std::string &path)
{
	const std::string target = host.link(path);
	return target.empty() ? path.substr(path.rfind('/') + 1) : target;
}

// The disk of which `part` is a partition, if its name is one: sdb of sdb1, nvme0n1 of nvme0n1p1.
std::string disk_of(const std::string &part)
{
	std::string disk = part.substr(0, part.find_last_not_of("0123456789") + 1);
	if (disk.size() > 1 && disk.ends_with('p') && std::isdigit(disk[disk.size() - 2]))
		disk.pop_back();
	return disk;
}

// Of the device of that name, and of those that it shares its claim with: itself first. None if
// there is no such device.
std::vector<std::string> folders_of(const Host &host, const std::string &name)
{
	const std::string disk = "/sys/block/" + name;
	const std::string whole = "/sys/block/" + disk_of(name), part = whole + "/" + name;
	std::vector<std::string> folders;
	if (host.exists(disk)) {
		folders.push_back(disk);
		for (const std::string &below : host.list(disk))
			if (host.exists(disk + "/" + below + "/partition"))
				folders.push_back(disk + "/" + below);
	} else if (host.exists(part + "/partition")) {
		folders = {part, whole};
	}
	return folders;
}

} // namespace

DiskUsers::DiskUsers(const Host &host) : host_(host)
{
	for (const std::string &line : split(host.text("/proc/self/mountinfo"), "\n")) {
		std::vector<std::string> words = split(line);
		if (words.size() <= 4 || words[2].empty())
			continue;
		std::string number = words[2];
		// A file system that has a number of its own, as btrfs does, names its device.
		const auto dash = std::find(words.begin() + 5, words.end(), "-");
		if (number.starts_with("0:") && words.end() - dash > 2 &&
		    dash[2].starts_with("/dev/"))
			if (const auto folders = folders_of(host, kernel_name(host, dash[2]));
			    !folders.empty())
				number = trim(host.text(folders.front() + "/dev"));
		mounts_.emplace(number, words[4]);
	}
	for (const std::string &line : split(host.text("/proc/swaps"), "\n"))
		swaps_.push_back(line.substr(0, line.find_first_of(" \t")));
}

void DiskUsers::find(Device &device) const
{
	const std::string disk = "/sys/block/" + device.name;
	std::vector<std::string> folders = {disk};
	for (const std::string &name : host_.list(disk))
		if (name.starts_with(device.name))
			folders.push_back(disk + "/" + name);
	for (const std::string &folder : folders) {
		for (const std::string &holder : host_.list(folder + "/holders"))
			device.holders.push_back(holder);
		auto [begin, end] = mounts_.equal_range(trim(host_.text(folder + "/dev")));
		for (auto at = begin; at != end; ++at)
			device.mounts.push_back(at->second);
	}
	for (const std::string &node : swaps_)
		if (node == device.node() || node.starts_with(device.node() + "p"))
			device.mounts.push_back("swap");
}

std::vector<std::string> DiskUsers::users_of(const std::string &path) const
{
	std::vector<std::string> users;
	for (const std::string &folder : folders_of(host_, kernel_name(host_, path))) {
		auto [begin, end] = mounts_.equal_range(trim(host_.text(folder + "/dev")));
		for (auto at = begin; at != end; ++at)
			users.push_back("mounted on " + at->second);
		const std::string node = "/dev" + folder.substr(folder.rfind('/'));
		for (const std::string &swap : swaps_)
			if (swap == node || kernel_name(host_, swap) == node.substr(5))
				users.push_back("swap");
		for (const std::string &holder : host_.list(folder + "/holders")) {
			// A volume has a name of its own.
			const std::string name =
			    trim(host_.text("/sys/block/" + holder + "/dm/name"));
			users.push_back("held by " + (name.empty() ? holder : name));
		}
	}
	return users;
}

} // namespace rnbdadm
