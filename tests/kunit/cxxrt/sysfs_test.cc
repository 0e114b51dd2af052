// SPDX-License-Identifier: GPL-2.0
// Directories and files of sysfs, through the file system: above all, who waits for whom at the
// end.
#include <cxxrt/sysfs.hh>
#include <cxxrt/text.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

#define FOLDER "/sys/kernel/cxxrt_kunit/"

class File {
public:
	File(const char *path, int flags) : file_(filp_open(path, flags, 0)) {}
	~File()
	{
		if (!IS_ERR(file_))
			filp_close(file_, nullptr);
	}
	File(const File &) = delete;
	File &operator=(const File &) = delete;
	// Bytes, or a negative errno.
	ssize_t read(char *text, size_t size)
	{
		if (IS_ERR(file_))
			return PTR_ERR(file_);
		loff_t at = 0;
		return kernel_read(file_, text, size, &at);
	}
	ssize_t write(const char *text)
	{
		if (IS_ERR(file_))
			return PTR_ERR(file_);
		loff_t at = 0;
		return kernel_write(file_, text, strlen(text), &at);
	}

private:
	file *file_;
};

ssize_t read_file(const char *path)
{
	char text[16];
	return File(path, O_RDONLY).read(text, sizeof(text));
}

ssize_t write_file(const char *path, const char *text)
{
	return File(path, O_WRONLY).write(text);
}

class Owner {
public:
	void show_number(SysfsText &out) { out.print("%d\n", number); }
	Status store_number(TextView in, SysfsCall &)
	{
		number = static_cast<int>(TRY(parse_u64(in)));
		return {};
	}
	void show_slow(SysfsText &out)
	{
		inside = true;
		entered.complete();
		(void)go.wait_for(kLong);
		breathe();
		inside = false;
		out.print("%s", "slow\n");
	}
	Status store_remove(TextView, SysfsCall &call)
	{
		breathe();
		if (!call.remove_file()) {
			__atomic_fetch_add(&losers, 1, __ATOMIC_SEQ_CST);
			return {};
		}
		__atomic_fetch_add(&winners, 1, __ATOMIC_SEQ_CST);
		dir.reset();
		return {};
	}

	bool make_directory();

	int number = 5;
	bool inside = false;
	int winners = 0;
	int losers = 0;
	Completion entered;
	Completion go;
	SysfsDir dir;
};

constinit const SysfsFile<Owner> kFiles[] = {
    SysfsFile<Owner>::read_write("number", &Owner::show_number, &Owner::store_number),
    SysfsFile<Owner>::read_only("slow", &Owner::show_slow),
    SysfsFile<Owner>::make("remove", 0200, nullptr, &Owner::store_remove),
};

bool Owner::make_directory()
{
	auto made = SysfsDir::create(kernel_kobj, "cxxrt_kunit", this, kFiles);
	if (!made.ok())
		return false;
	dir = made.take();
	return true;
}

} // namespace

CASE(sysfs_table_reaches_the_methods)
{
	Owner owner;
	char text[16] = {};
	REQUIRE(owner.make_directory());
	EXPECT_EQ(File(FOLDER "number", O_RDONLY).read(text, sizeof(text) - 1), 2);
	EXPECT(!strcmp(text, "5\n"));
	EXPECT_EQ(write_file(FOLDER "number", "77\n"), 3);
	EXPECT_EQ(owner.number, 77);
	// The method's error is the writer's, and nothing has changed.
	EXPECT_EQ(write_file(FOLDER "number", "x\n"), -EINVAL);
	EXPECT_EQ(owner.number, 77);
	EXPECT_EQ(read_file(FOLDER "nothing"), -ENOENT);
}

CASE(sysfs_removal_waits_for_a_running_method)
{
	Owner owner;
	ssize_t got = 0;
	bool inside_at_end = true;
	REQUIRE(owner.make_directory());
	Thread reader([&] { got = read_file(FOLDER "slow"); });
	Thread remover([&] {
		owner.dir.reset();
		inside_at_end = owner.inside;
	});
	REQUIRE(reader.start(0));
	REQUIRE(owner.entered.wait_for(kLong).ok());
	REQUIRE(remover.start(1));
	schedule_timeout_uninterruptible(5);
	EXPECT(!remover.done());
	owner.go.complete();
	EXPECT(remover.wait_done().ok());
	EXPECT(reader.wait_done().ok());
	EXPECT(!inside_at_end);
	EXPECT_EQ(got, 5);
}

// Somebody keeps a file open while directory and owner go: no method is called any more.
CASE(sysfs_open_file_outlives_the_directory)
{
	auto made = make_box<Owner>(GFP_KERNEL);
	REQUIRE(made.ok());
	Box<Owner> owner = made.take();
	REQUIRE(owner->make_directory());
	File reader(FOLDER "number", O_RDONLY);
	File writer(FOLDER "number", O_WRONLY);
	owner->dir.reset();
	owner.reset();
	char text[16];
	EXPECT_EQ(reader.read(text, sizeof(text)), -ENODEV);
	EXPECT_EQ(writer.write("1"), -ENODEV);
}

CASE(sysfs_of_two_who_remove_themselves_one_wins)
{
	for (int round = 0; round < 20; round++) {
		Owner owner;
		REQUIRE(owner.make_directory());
		REQUIRE(side_by_side<2>([&](unsigned int) {
			File file(FOLDER "remove", O_WRONLY);
			breathe();
			(void)file.write("1");
		}));
		EXPECT_EQ(owner.winners, 1);
		EXPECT(!owner.dir);
		EXPECT_EQ(read_file(FOLDER "number"), -ENOENT);
	}
}
