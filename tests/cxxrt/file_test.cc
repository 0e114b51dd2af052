// SPDX-License-Identifier: GPL-2.0
// What the kernel offers to programs is found by its own threads, too. Digests are those of
// BLAKE2s.
#include <cxxrt/digest.hh>
#include <cxxrt/file.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/work.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";

// Looks things up as a thread of the kernel.
struct Finder {
	Finder() : work(this) {}

	void find()
	{
		fs_struct *const before = current->fs;
		file_size = read_file(kBootId, text, sizeof(text));
		folder_ok =
		    list_folder("/proc/sys/kernel", Folder::OnlyOfSome,
				[&](TextView, unsigned int type) { entries += type == DT_REG; })
			.ok();
		{
			const ProgramPaths outer;
			const ProgramPaths inner;
			path p;
			found = !kern_path("/proc/self", LOOKUP_FOLLOW, &p);
			if (found)
				path_put(&p);
		}
		kept = current->fs == before;
	}

	Work<Finder, &Finder::find> work;
	char text[64];
	usize file_size = 0;
	u32 entries = 0;
	bool folder_ok = false;
	bool found = false;
	bool kept = false;
};

void work_finds_paths(Case &t)
{
	auto queue = Workqueue::create("cxxrt_selftest", WQ_UNBOUND);
	auto made = make_box<Finder>(GFP_KERNEL);
	if (!queue.ok() || !made.ok())
		return t.skip("out of memory");
	Finder &finder = **made;
	finder.work.queue(*queue);
	finder.work.flush();
	EXPECT(finder.file_size > 30);
	EXPECT(finder.folder_ok && finder.entries > 2);
	EXPECT(finder.found);
	EXPECT(finder.kept);
	EXPECT(read_file("/proc/no such file", finder.text, sizeof(finder.text)) == 0);
}

void digest(Case &t)
{
	// RFC 7693, appendix B.
	constexpr u8 kWant[] = {0x50, 0x8c, 0x5e, 0x8c, 0x32, 0x7c, 0x14, 0xe2, 0xe1, 0xa7, 0x2b,
				0xa3, 0x4e, 0xeb, 0x45, 0x2f, 0x37, 0x45, 0x8b, 0x20, 0x9e, 0xd6,
				0x3a, 0x29, 0x4d, 0x99, 0x9b, 0x4c, 0x86, 0x67, 0x59, 0x82};
	constexpr u8 kText[] = {'a', 'b', 'c'};
	u8 found[sizeof(kWant)];
	blake2s_digest(kText, sizeof(kText), found, sizeof(found));
	EXPECT(!memcmp(found, kWant, sizeof(found)));
}

constexpr Test kFileTests[] = {
    {"work finds what programs find", work_finds_paths},
    {"a digest is that of BLAKE2s", digest},
};

} // namespace

constinit const selftest::Suite selftest::file_suite("file", kFileTests);
