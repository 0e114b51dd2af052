// SPDX-License-Identifier: GPL-2.0
// Who uses disks of this machine: file systems, swap, and devices on top of them.
#pragma once

#include "model.hh"

#include <map>

namespace rnbdadm {

// What is mounted and swapped on at one moment: read once, asked for many disks.
class DiskUsers {
public:
	explicit DiskUsers(const Host &host);

	// The mounts and holders of a disk and of its partitions; its name is set.
	void find(Device &device) const;

	// What uses the block device that a path leads to, in words: "mounted on /srv", "swap",
	// "held by vg0-data". Of a disk also what uses its partitions, and of a partition what uses
	// all of its disk: the kernel lets both be claimed by one only.
	std::vector<std::string> users_of(const std::string &path) const;

private:
	const Host &host_;
	std::multimap<std::string, std::string> mounts_; // by major:minor, in their order
	std::vector<std::string> swaps_;		 // nodes
};

} // namespace rnbdadm
