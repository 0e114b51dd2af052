// SPDX-License-Identifier: GPL-2.0
// What uses a block device on this machine, in words for the administrator: file systems, volumes
// and arrays on top of it, and exports. By the lists that the kernel has for programs, so nothing
// waits for the device. A program that has it open exclusively is in none of them.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <cxxrt/result.hh>
#include <rnbd/pure/local_use.hh>

namespace rnbd::server {

class ConfiguredExports;

class LocalUsers {
public:
	// Of the device itself; of a partition its whole disk's, too, and of a whole disk those of
	// its partitions. `exports` of it itself do not count. ENOMEM. May sleep, but never for the
	// device.
	static Result<cxxrt::Box<LocalUsers>> find(dev_t device, ConfiguredExports &exports);

	// Finds out in addition whether it is swap. Sleeps as long as the device does.
	void look_into_device();

	bool any() const { return count_; }
	// "mounted on /srv, held by vg0-data"; for the log.
	const char *text() const { return text_.c_str(); }

private:
	template <class T, class... Args>
	friend Result<cxxrt::Box<T>> cxxrt::make_box(gfp_t, Args &&...);
	explicit LocalUsers(dev_t device) { numbers_[0] = device; }

	enum : u32 { kMaxNumbers = 65, kMaxNamed = 4 };

	bool has(dev_t number) const;
	void add(const char *how, TextView what);
	void find_relatives();
	void find_holders();
	void find_mounts();
	void find_exports(ConfiguredExports &exports);
	template <class F> void for_each_folder(const char *folder, F &&f);

	dev_t numbers_[kMaxNumbers]; // that a claim of the device would conflict with
	u32 number_count_ = 1;
	u32 count_ = 0;
	cxxrt::TextBuffer<512> text_;
	char path_[512];
	char lines_[4096]; // of a file, or names of a folder
};

} // namespace rnbd::server
