// SPDX-License-Identifier: GPL-2.0
// Text output, attribute tables and devices of a class, read and written through the file system.
#include <cxxrt/class_device.hh>
#include <cxxrt/print.hh>
#include <cxxrt/sysfs.hh>
#include <cxxrt/text.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

// The bytes read or written, or a negative errno.
ssize_t read_text(const char *path, char *text, size_t size)
{
	file *f = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(f))
		return PTR_ERR(f);
	loff_t at = 0;
	const ssize_t n = kernel_read(f, text, size - 1, &at);
	text[n > 0 ? n : 0] = 0;
	filp_close(f, nullptr);
	return n;
}

ssize_t write_file(const char *path, const char *text)
{
	file *f = filp_open(path, O_WRONLY, 0);
	if (IS_ERR(f))
		return PTR_ERR(f);
	loff_t at = 0;
	const ssize_t n = kernel_write(f, text, strlen(text), &at);
	filp_close(f, nullptr);
	return n;
}

bool has_sysfs()
{
	path at;
	if (kern_path("/sys/kernel", LOOKUP_DIRECTORY, &at))
		return false;
	path_put(&at);
	return true;
}

class Disk {
public:
	void show_limit(SysfsText &out) { out.print("%u\n", limit); }
	Status store_limit(TextView in, SysfsCall &)
	{
		limit = static_cast<u32>(TRY(parse_u64(in)));
		return {};
	}
	void show_name(SysfsText &out) { out.print("%s", "disk\n"); }
	Status store_remove(TextView in, SysfsCall &call)
	{
		TRY(parse_one(in));
		if (call.remove_file())
			dir.reset();
		return {};
	}

	u32 limit = 5;
	SysfsDir dir;
};

constinit const SysfsFile<Disk> kDiskFiles[] = {
    SysfsFile<Disk>::read_only("name", &Disk::show_name),
    SysfsFile<Disk>::read_write("limit", &Disk::show_limit, &Disk::store_limit),
    SysfsFile<Disk>::make("remove", 0200, nullptr, &Disk::store_remove),
};

void directory(Case &t)
{
	Disk disk;
	char text[32];
	if (!has_sysfs())
		return t.skip("no /sys");
	auto made = SysfsDir::create(kernel_kobj, "cxxrt_selftest", &disk, kDiskFiles);
	EXPECT(made.ok());
	if (!made.ok())
		return;
	disk.dir = made.take();
	EXPECT(read_text("/sys/kernel/cxxrt_selftest/name", text, sizeof(text)) == 5);
	EXPECT(!strcmp(text, "disk\n"));
	EXPECT(write_file("/sys/kernel/cxxrt_selftest/limit", "0x20\n") == 5);
	EXPECT(disk.limit == 32);
	EXPECT(write_file("/sys/kernel/cxxrt_selftest/limit", "much\n") == -EINVAL);
	EXPECT(read_text("/sys/kernel/cxxrt_selftest/limit", text, sizeof(text)) == 3);
	EXPECT(!strcmp(text, "32\n"));
}

void removal_from_inside(Case &t)
{
	Disk disk;
	char text[8];
	if (!has_sysfs())
		return t.skip("no /sys");
	auto made = SysfsDir::create(kernel_kobj, "cxxrt_selftest", &disk, kDiskFiles);
	EXPECT(made.ok());
	if (!made.ok())
		return;
	disk.dir = made.take();
	EXPECT(write_file("/sys/kernel/cxxrt_selftest/remove", "2") == -EINVAL);
	EXPECT(disk.dir);
	EXPECT(write_file("/sys/kernel/cxxrt_selftest/remove", "1") == 1);
	EXPECT(!disk.dir);
	EXPECT(read_text("/sys/kernel/cxxrt_selftest/name", text, sizeof(text)) == -ENOENT);
}

constinit const DeviceFile<Disk> kDeviceFiles[] = {
    DeviceFile<Disk>::read_write("limit", &Disk::show_limit, &Disk::store_limit),
};

void class_device(Case &t)
{
	Disk disk;
	char text[32];
	if (!has_sysfs())
		return t.skip("no /sys");
	auto cls = DeviceClass::create(cxxrt::lock_class<"cxxrt-selftest">());
	EXPECT(cls.ok());
	if (!cls.ok())
		return;
	{
		auto made = ClassDevice::create(*cls, "ctl", &disk, kDeviceFiles);
		EXPECT(made.ok());
		if (!made.ok())
			return;
		made->announce();
		EXPECT(write_file("/sys/class/cxxrt-selftest/ctl/limit", "9") == 1);
		EXPECT(read_text("/sys/class/cxxrt-selftest/ctl/limit", text, sizeof(text)) == 2);
		EXPECT(!strcmp(text, "9\n"));
	}
	EXPECT(read_text("/sys/class/cxxrt-selftest/ctl/limit", text, sizeof(text)) == -ENOENT);
}

void text_buffer(Case &t)
{
	TextBuffer<8> text;
	EXPECT(text.print("%d-%d", 12, 34));
	EXPECT(!strcmp(text.c_str(), "12-34"));
	EXPECT(!text.print("%s", "123456789"));
	EXPECT(!strcmp(text.c_str(), "1234567"));
	EXPECT(text.assign(TextView("abc")));
	EXPECT(text.view() == TextView("abc"));
	EXPECT(!text.assign(TextView("123456789")));
	EXPECT(text.view().size() == 7);
}

constexpr Test kSysfsTests[] = {
    {"text buffers are terminated", text_buffer},
    {"a directory's files call its owner", directory},
    {"a directory is removed by one of its files", removal_from_inside},
    {"a device of a class", class_device},
};

} // namespace

namespace selftest {
constinit const Suite sysfs_suite("sysfs", kSysfsTests);
}
