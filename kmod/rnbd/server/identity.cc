// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/identity.hh>

#include <cxxrt/file.hh>
#include <cxxrt/text.hh>

namespace rnbd {

namespace {

using cxxrt::TextWriter;

constexpr u32 kIdBytes = 16;

bool write_unique_id(TextWriter &out, gendisk *disk)
{
	if (!disk->fops->get_unique_id)
		return false;
	constexpr struct {
		blk_unique_id type;
		TextView prefix;
	} kKinds[] = {{BLK_UID_NAA, "naa."}, {BLK_UID_EUI64, "eui."}, {BLK_UID_T10, "t10."}};
	for (const auto &kind : kKinds) {
		u8 id[kIdBytes] = {};
		const int size = disk->fops->get_unique_id(disk, id, kind.type);
		if (size <= 0 || size > static_cast<int>(kIdBytes))
			continue;
		out.put(kind.prefix);
		for (int i = 0; i < size; i++) {
			out.put("0123456789abcdef"[id[i] >> 4]);
			out.put("0123456789abcdef"[id[i] & 15]);
		}
		return true;
	}
	return false;
}

// Drivers without the method above show their identifiers in sysfs only, where udev reads them,
// too. If sysfs is not mounted at its place, they have none. The size of what was read.
usize read_attribute(gendisk *disk, const char *name, char *text, usize size)
{
	char path[64];
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", MAJOR(disk_devt(disk)),
		 MINOR(disk_devt(disk)), name);
	return cxxrt::read_file(path, text, size);
}

bool write_sysfs_id(TextWriter &out, gendisk *disk)
{
	constexpr struct {
		const char *file;
		TextView prefix;
	} kFiles[] = {{"wwid", ""}, {"device/wwid", ""}, {"dm/uuid", "dm."}, {"md/uuid", "md."}};
	for (const auto &kind : kFiles) {
		char text[kWwidSize];
		usize size = read_attribute(disk, kind.file, text, sizeof(text));
		while (size && text[size - 1] <= ' ')
			size--;
		if (!size)
			continue;
		out.put(kind.prefix).put(TextView(text, size));
		return true;
	}
	return false;
}

} // namespace

Wwid identify_device(block_device *bdev, const char *server_id)
{
	char text[kWwidSize];
	TextWriter out(text, sizeof(text));
	gendisk *disk = bdev->bd_disk;
	if (!write_unique_id(out, disk) && !write_sysfs_id(out, disk))
		out.put("rnbd.")
		    .put(TextView::of(server_id))
		    .put('.')
		    .put(TextView::of(disk->disk_name));
	if (bdev->bd_partno)
		out.put("-part").put_unsigned(bdev->bd_partno);
	Result<Wwid> wwid = Wwid::from(out.text());
	return wwid.ok() ? wwid.take() : Wwid();
}

} // namespace rnbd
