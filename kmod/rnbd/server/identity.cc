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
		put_hex(out, id, static_cast<usize>(size));
		return true;
	}
	return false;
}

// Drivers without the method above show their identifiers in sysfs only, where udev reads them,
// too.
bool write_sysfs_id(TextWriter &out, const SysfsFolder &folder)
{
	constexpr struct {
		const char *file;
		TextView prefix;
	} kFiles[] = {{"wwid", ""},
		      {"device/wwid", ""},
		      {"device/cid", "mmc."},
		      {"dm/uuid", "dm."},
		      {"md/uuid", "md."}};
	for (const auto &kind : kFiles) {
		char text[SysfsFolder::kLongest];
		const TextView id = folder.read(kind.file, text);
		if (id.empty())
			continue;
		out.put(kind.prefix).put(id);
		return true;
	}
	return false;
}

// Somebody chose it, for the disks of one machine at best.
bool write_serial(TextWriter &out, const SysfsFolder &folder, const char *server_id)
{
	// Of an INQUIRY page: a head, and the serial number.
	constexpr usize kPageHead = 4;
	constexpr struct {
		const char *file;
		usize skip;
	} kFiles[] = {{"serial", 0}, {"device/serial", 0}, {"device/vpd_pg80", kPageHead}};
	if (!*server_id)
		return false;
	for (const auto &kind : kFiles) {
		char text[SysfsFolder::kLongest];
		const TextView serial = folder.read(kind.file, text, kind.skip);
		if (serial.empty())
			continue;
		out.put("rnbd.").put(TextView::of(server_id)).put('.').put(serial);
		return true;
	}
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
	const SysfsFolder folder{disk_devt(disk)};
	if (!write_unique_id(out, disk) && !write_sysfs_id(out, folder) &&
	    !write_serial(out, folder, server_id))
		return {};
	if (const u32 part = cxxrt::partition_number(bdev))
		out.put("-part").put_unsigned(part);
	return to_wwid(out);
}

Wwid identify_unopened(dev_t device)
{
	char text[2 * SysfsFolder::kLongest];
	TextWriter out(text, sizeof(text));
	char number[SysfsFolder::kLongest];
	const TextView part = SysfsFolder{device}.read("partition", number);
	if (!write_sysfs_id(out, {device, part.empty() ? "" : "../"}))
		return {};
	if (!part.empty())
		out.put("-part").put(part);
	return to_wwid(out);
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
