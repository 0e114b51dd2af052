// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/identity.hh>

#include <cxxrt/block.hh>
#include <cxxrt/digest.hh>
#include <cxxrt/file.hh>
#include <cxxrt/text.hh>
#include <rnbd/pure/machine_id.hh>
#include <rnbd/server/sysfs_folder.hh>

namespace rnbd::server {

namespace {

using cxxrt::TextWriter;

constexpr u32 kIdBytes = 16;

void put_hex(TextWriter &out, const u8 *bytes, usize size)
{
	for (usize i = 0; i < size; i++) {
		out.put("0123456789abcdef"[bytes[i] >> 4]);
		out.put("0123456789abcdef"[bytes[i] & 15]);
	}
}

// The first `bytes` of the digest of the text, that only it has.
void put_digest(TextWriter &out, TextView text, usize bytes = BLAKE2S_HASH_SIZE)
{
	u8 digest[BLAKE2S_HASH_SIZE];
	cxxrt::blake2s_digest(reinterpret_cast<const u8 *>(text.data()), text.size(), digest,
			      sizeof(digest));
	put_hex(out, digest, bytes);
}

bool write_unique_id(TextWriter &out, gendisk *disk)
{
	if (!disk || !disk->fops->get_unique_id)
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
		put_hex(out, id, static_cast<usize>(size));
		return true;
	}
	return false;
}

// A whole disk to be identified.
struct Disk {
	DiskKind kind;
	SysfsFolder folder;
	gendisk *open; // null if it is not open
	const char
	    *server_id; // null: serial numbers, for which some drivers ask the disk, are left out
};

// By one line of the table. False if the disk says nothing there.
bool write_from(TextWriter &out, const Disk &disk, const IdentitySource &source)
{
	using Form = IdentitySource::Form;
	if (source.form == Form::Driver)
		return write_unique_id(out, disk.open);
	if (source.form == Form::Serial && (!disk.server_id || !*disk.server_id))
		return false;
	char text[SysfsFolder::kLongest];
	const TextView said = disk.folder.read(source.file, text, source.skip);
	if (said.empty())
		return false;
	switch (source.form) {
	case Form::Mapper:
		return write_mapper_id(out, said);
	case Form::Array:
		return write_array_id(out, said);
	case Form::Serial:
		// An administrator or a vendor chose it, for the disks of one machine at best.
		out.put("rnbd.").put(TextView::of(disk.server_id)).put('.').put(said);
		return true;
	default:
		out.put(source.prefix).put(said);
		return true;
	}
}

bool write_disk_id(TextWriter &out, const Disk &disk)
{
	for (const IdentitySource &source : kIdentitySources)
		if (source.kind == disk.kind && write_from(out, disk, source))
			return true;
	return false;
}

Wwid to_wwid(const TextWriter &out)
{
	if (out.truncated())
		return {};
	Result<Wwid> wwid = Wwid::from(out.text());
	if (wwid.ok())
		return wwid.take();
	// The beginning would be that of others, too.
	char shorter[kWwidSize];
	TextWriter digest(shorter, sizeof(shorter));
	digest.put("digest.");
	put_digest(digest, out.text());
	Result<Wwid> replaced = Wwid::from(digest.text());
	return replaced.ok() ? replaced.take() : Wwid();
}

} // namespace

Wwid identify_device(block_device *bdev, const char *server_id)
{
	char text[2 * SysfsFolder::kLongest];
	TextWriter out(text, sizeof(text));
	gendisk *disk = bdev->bd_disk;
	const Disk whole{.kind = kind_of_disk(TextView::of(disk->disk_name)),
			 .folder = {.device = disk_devt(disk)},
			 .open = disk,
			 .server_id = server_id};
	if (!write_disk_id(out, whole))
		return {};
	if (bdev_is_partition(bdev) &&
	    !write_partition_id(out, cxxrt::partition_uuid(bdev), {cxxrt::partition_start(bdev)}))
		return {};
	return to_wwid(out);
}

Seen look_from_outside(dev_t device, const Wwid &wanted)
{
	char file[SysfsFolder::kLongest];
	const bool part = !SysfsFolder{device}.read("partition", file).empty();
	const SysfsFolder folder{device, part ? "../" : ""};
	const DiskKind kind = kind_of_disk(uevent_value(folder.read("uevent", file), "DEVNAME"));
	Seen seen{.is_map = kind == DiskKind::Mapper, .looks_right = false};
	char text[2 * SysfsFolder::kLongest];
	TextWriter out(text, sizeof(text));
	if (!write_disk_id(out, {kind, folder, nullptr, nullptr}))
		return seen;
	// Not all kernels show the uuid of a partition.
	if (part)
		out.put(kPartition);
	const Wwid wwid = to_wwid(out);
	seen.looks_right = part ? wanted.view().starts_with(wwid.view()) : wwid == wanted;
	return seen;
}

void write_server_id(TextWriter &out, const rnbd_server_settings &settings)
{
	if (settings.server_id && *settings.server_id) {
		out.put(TextView::of(settings.server_id));
		return;
	}
	// Mainboards that share a UUID are sold, and installations are copied with their
	// machine-id: only both together are taken for one machine's. systemd wants its number not
	// told.
	char id[64];
	const TextView installed =
	    trim_blanks(TextView(id, cxxrt::read_file("/etc/machine-id", id, sizeof(id))));
	const TextView board =
	    TextView::of(is_machine_uuid(settings.board_uuid) ? settings.board_uuid : "");
	if (installed.empty() && board.empty())
		return;
	char both[128];
	TextWriter text(both, sizeof(both));
	text.put("rnbd-server ").put(board).put(' ').put(installed);
	put_digest(out, text.text(), kIdBytes);
}

} // namespace rnbd::server
