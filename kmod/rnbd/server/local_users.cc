// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/local_users.hh>

#include <cxxrt/block.hh>
#include <cxxrt/file.hh>
#include <rnbd/server/configured.hh>
#include <rnbd/server/sysfs_folder.hh>

namespace rnbd::server {

Result<cxxrt::Box<LocalUsers>> LocalUsers::find(dev_t device, ConfiguredExports &exports)
{
	cxxrt::Box<LocalUsers> users = TRY(cxxrt::make_box<LocalUsers>(GFP_KERNEL, device));
	users->find_relatives();
	users->find_mounts();
	users->find_holders();
	users->find_exports(exports);
	return users;
}

bool LocalUsers::has(dev_t number) const
{
	for (u32 i = 0; i < number_count_; i++)
		if (numbers_[i] == number)
			return true;
	return false;
}

// What finds no room is not named; that it is there counts.
void LocalUsers::add(const char *how, TextView what)
{
	if (count_++ >= kMaxNamed)
		return;
	const usize used = text_.view().size();
	snprintf(text_.data() + used, sizeof(text_) - used, "%s%s %.*s", used ? ", " : "", how,
		 static_cast<int>(what.size()), what.data());
}

// f(name) for each folder in `folder`, or link to one. The names first: a folder is locked while
// it is listed.
template <class F> void LocalUsers::for_each_folder(const char *folder, F &&f)
{
	usize used = 0;
	static_cast<void>(
	    cxxrt::list_folder(folder, cxxrt::Folder::Any, [&](TextView name, unsigned int type) {
		    if ((type != DT_DIR && type != DT_LNK) || used + name.size() >= sizeof(lines_))
			    return;
		    __builtin_memcpy(lines_ + used, name.data(), name.size());
		    lines_[used + name.size()] = '\0';
		    used += name.size() + 1;
	    }));
	for (usize at = 0; at < used;) {
		const TextView name = TextView::of(lines_ + at);
		at += name.size() + 1;
		f(name);
	}
}

void LocalUsers::find_relatives()
{
	char text[SysfsFolder::kLongest];
	auto take = [&](TextView number) {
		Result<DeviceNumber> parsed = parse_device_number(number);
		if (parsed.ok() && number_count_ < kMaxNumbers)
			numbers_[number_count_++] = MKDEV(parsed->major, parsed->minor);
	};
	const dev_t device = numbers_[0];
	if (!SysfsFolder{device}.read("partition", text).empty()) {
		take(SysfsFolder{device, "../"}.read("dev", text));
		return;
	}
	char folder[48];
	// The dot is reached through the link that has the device's number.
	snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u/.", MAJOR(device), MINOR(device));
	for_each_folder(folder, [&](TextView name) {
		char below[64];
		const int size = snprintf(below, sizeof(below), "%s/", name.data());
		if (size >= static_cast<int>(sizeof(below)))
			return;
		const SysfsFolder part{device, below};
		if (!part.read("partition", text).empty())
			take(part.read("dev", text));
	});
}

void LocalUsers::find_holders()
{
	for (u32 i = 0; i < number_count_; i++) {
		char folder[48];
		snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u/holders", MAJOR(numbers_[i]),
			 MINOR(numbers_[i]));
		for_each_folder(folder, [&](TextView name) {
			// A volume by its own name, if it has one.
			snprintf(path_, sizeof(path_), "/sys/block/%s/dm/name", name.data());
			char text[SysfsFolder::kLongest];
			const usize size = cxxrt::read_file(path_, text, sizeof(text));
			const TextView volume = trim_blanks(TextView(text, size));
			add("held by", volume.empty() ? name : volume);
		});
	}
}

// Those of the first process, which are the machine's.
void LocalUsers::find_mounts()
{
	cxxrt::read_lines("/proc/1/mountinfo", lines_, sizeof(lines_), [&](TextView line) {
		const Result<Mount> mount = parse_mount(line);
		if (!mount.ok())
			return;
		dev_t number = MKDEV(mount->device.major, mount->device.minor);
		// A file system that has a number of its own, as btrfs does.
		if (!mount->device.major && mount->source.starts_with("/dev/") &&
		    mount->source.size() < sizeof(path_)) {
			__builtin_memcpy(path_, mount->source.data(), mount->source.size());
			path_[mount->source.size()] = '\0';
			const Result<dev_t> source = cxxrt::block_device_at(path_);
			number = source.ok() ? source.value() : 0;
		}
		if (number && has(number))
			add("mounted on", mount->point);
	});
}

// The list of swaps is not to be read from within the kernel.
void LocalUsers::look_into_device()
{
	Result<cxxrt::OpenBlockDevice> opened =
	    cxxrt::OpenBlockDevice::open(numbers_[0], cxxrt::kBlockRead);
	if (opened.ok() && IS_SWAPFILE(cxxrt::page_cache_of(opened->get())->host))
		add("used as", "swap");
}

// The kernel lets a disk and its partitions be claimed by one only, whoever that is.
void LocalUsers::find_exports(ConfiguredExports &exports)
{
	for (u32 i = 1; i < number_count_; i++)
		exports.for_each_open(numbers_[i], [&](const char *name) {
			add("in use by export", TextView::of(name));
		});
}

} // namespace rnbd::server
