// SPDX-License-Identifier: GPL-2.0
// Who uses disks of this machine.
#include "disk_users.hh"

#include "text.hh"

namespace rnbdadm {

DiskUsers::DiskUsers(const Host &host) : host_(host)
{
	for (const std::string &line : split(host.text("/proc/self/mountinfo"), "\n")) {
		std::vector<std::string> words = split(line);
		if (words.size() > 4 && !words[2].empty())
			mounts_.emplace(words[2], words[4]);
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

} // namespace rnbdadm
