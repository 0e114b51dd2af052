// SPDX-License-Identifier: GPL-2.0
// Which identity a block device has (protocol D.5, design "Identity"): the table of kinds, and the
// rules for texts of which an identity is made. Pure.
//
// An identity belongs to what is opened. A device that lies over others never has theirs, except a
// multipath map, which is the unit that its paths lead to.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// ---- kinds

enum class DiskKind : u8 {
	Other, // has no identity
	Scsi,
	Nvme,
	Virtio,
	Mmc,
	Mapper, // device mapper
	Array,	// md
	Rnbd,
};

// Where a kind of disk tells its identity. Those of one kind are asked in the order of the table.
struct IdentitySource {
	enum class Form : u8 {
		Driver, // get_unique_id() of the driver
		Text,	// an identity as it stands in the file
		Mapper, // uuid of device mapper
		Array,	// uuid of md
		Serial, // a serial number: one of this machine's
	};
	DiskKind kind;
	Form form;
	const char *file; // in the disk's folder in sysfs
	TextView prefix;
	usize skip = 0; // bytes before the text
};

// A kind that has no line here has no identity. Device mapper forwards get_unique_id() to the disk
// below since 6.13, so a driver's word counts for kinds alone that are no stack of others.
constexpr IdentitySource kIdentitySources[] = {
    {DiskKind::Scsi, IdentitySource::Form::Driver, nullptr, {}},
    {DiskKind::Scsi, IdentitySource::Form::Text, "device/wwid", {}},
    // The head of an INQUIRY page has four bytes.
    {DiskKind::Scsi, IdentitySource::Form::Serial, "device/vpd_pg80", {}, 4},
    // Its driver's word is there since 6.2 only, and is another one where a namespace has a UUID.
    // The serial number of the controller is that of all its namespaces.
    {DiskKind::Nvme, IdentitySource::Form::Text, "wwid", {}},
    {DiskKind::Virtio, IdentitySource::Form::Serial, "serial", {}},
    {DiskKind::Mmc, IdentitySource::Form::Text, "device/cid", "mmc."},
    {DiskKind::Mapper, IdentitySource::Form::Mapper, "dm/uuid", {}},
    {DiskKind::Array, IdentitySource::Form::Array, "md/uuid", {}},
    {DiskKind::Rnbd, IdentitySource::Form::Text, "wwid", {}},
};

namespace detail {
constexpr bool is_decimal(TextView t)
{
	for (usize i = 0; i < t.size(); i++)
		if (t[i] < '0' || t[i] > '9')
			return false;
	return !t.empty();
}

constexpr bool is_hex(TextView t)
{
	for (usize i = 0; i < t.size(); i++)
		if (cxxrt::detail::digit_value(t[i]) >= 16)
			return false;
	return !t.empty();
}

constexpr bool is_letters(TextView t)
{
	for (usize i = 0; i < t.size(); i++)
		if (t[i] < 'a' || t[i] > 'z')
			return false;
	return !t.empty();
}

// Whether a hexadecimal digit other than zero is in it.
constexpr bool says_something(TextView t)
{
	for (usize i = 0; i < t.size(); i++) {
		const unsigned digit = cxxrt::detail::digit_value(t[i]);
		if (digit && digit < 16)
			return true;
	}
	return false;
}
} // namespace detail

// By the kernel's name of a whole disk, which begins as its driver has it. An eMMC's boot areas are
// disks of the card's identity, and no whole one.
constexpr DiskKind kind_of_disk(TextView name)
{
	if (name.starts_with("dm-") && detail::is_decimal(name.skip(3)))
		return DiskKind::Mapper;
	// md127, md_d0, md_name.
	if (name.starts_with("md") && (detail::is_decimal(name.skip(2)) || name.starts_with("md_")))
		return DiskKind::Array;
	if (name.starts_with("sd") && detail::is_letters(name.skip(2)))
		return DiskKind::Scsi;
	if (name.starts_with("vd") && detail::is_letters(name.skip(2)))
		return DiskKind::Virtio;
	if (name.starts_with("nvme"))
		return DiskKind::Nvme;
	if (name.starts_with("mmcblk") && detail::is_decimal(name.skip(6)))
		return DiskKind::Mmc;
	if (name.starts_with("rnbd") && detail::is_decimal(name.skip(4)))
		return DiskKind::Rnbd;
	return DiskKind::Other;
}

// ---- device mapper, md

namespace detail {
// What a partition of kpartx is of: behind part<N>-, which may repeat.
constexpr TextView behind_parts(TextView uuid)
{
	while (uuid.starts_with("part")) {
		const usize dash = uuid.find('-');
		if (dash == uuid.size() || !is_decimal(uuid.first(dash).skip(4)))
			break;
		uuid = uuid.skip(dash + 1);
	}
	return uuid;
}

// CRYPT-<type>-<uuid of the header, 32 digits>-<name>. Without a header there is but the name,
// which an administrator may give to another disk, and another machine's to any.
constexpr bool has_header(TextView crypt)
{
	constexpr usize kDigits = 32;
	TextView rest = crypt.skip(TextView("CRYPT-").size());
	rest = rest.skip(rest.find('-') + 1);
	return rest.find('-') == kDigits && rest.size() > kDigits && is_hex(rest.first(kDigits)) &&
	       says_something(rest.first(kDigits));
}

constexpr void put_lower(cxxrt::TextWriter &out, TextView t)
{
	for (usize i = 0; i < t.size(); i++)
		out.put(cxxrt::to_lower(t[i]));
}

// The unit behind a multipath map as the unit itself is told; false if the text is of another form.
// multipathd compares it with what each path says of itself, and it is there without a path.
constexpr bool write_unit(cxxrt::TextWriter &out, TextView unit)
{
	// Of scsi_id: a digit that says what follows.
	constexpr struct {
		TextView before;
		TextView prefix;
		usize digits[3];
	} kForms[] = {
	    {"3", "naa.", {16, 32, 0}}, {"2", "eui.", {16, 24, 32}}, {"eui.", "eui.", {16, 32, 0}}};
	for (const auto &form : kForms) {
		const TextView digits = unit.skip(form.before.size());
		if (!unit.starts_with(form.before) || !is_hex(digits))
			continue;
		for (const usize size : form.digits)
			if (digits.size() == size) {
				out.put(form.prefix);
				put_lower(out, digits);
				return true;
			}
	}
	// Of NVMe's wwid.
	if (unit.starts_with("nvme.") || unit.starts_with("uuid.")) {
		out.put(unit);
		return true;
	}
	return false;
}
} // namespace detail

// False if it gives no identity.
constexpr bool write_mapper_id(cxxrt::TextWriter &out, TextView uuid)
{
	const TextView whole = detail::behind_parts(uuid);
	// "devnode_" is kpartx's word for the number of a device.
	if (whole.empty() || whole.starts_with("devnode_"))
		return false;
	if (whole.starts_with("CRYPT-") && !detail::has_header(whole))
		return false;
	constexpr TextView kMultipath = "mpath-";
	if (uuid.starts_with(kMultipath) && detail::write_unit(out, uuid.skip(kMultipath.size())))
		return true;
	out.put("dm.").put(uuid);
	return true;
}

// False for an array that has no superblock of its own, whose uuid is zero.
constexpr bool write_array_id(cxxrt::TextWriter &out, TextView uuid)
{
	if (!detail::says_something(uuid))
		return false;
	out.put("md.").put(uuid);
	return true;
}

// ---- partitions

constexpr TextView kPartition{"-part."};

// Behind the identity of the disk. `uuid` is that of the partition table's entry, and `start` the
// first sector. The uuid of a DOS partition is the disk's signature and a number, by which others
// go when one before them is deleted, so its start is part of the identity. False if the partition
// has no uuid.
constexpr bool write_partition_id(cxxrt::TextWriter &out, TextView uuid, Sectors start)
{
	constexpr usize kRandom = 36;
	usize last = uuid.size();
	while (last && uuid[last - 1] != '-')
		last--;
	if (!detail::says_something(uuid.first(last)))
		return false;
	out.put(kPartition);
	detail::put_lower(out, uuid);
	if (uuid.size() != kRandom)
		out.put('.').put_unsigned(start.value);
	return true;
}

// ---- what sysfs tells without an open

// The value of a key in a file `uevent`; empty if it is not there.
constexpr TextView uevent_value(TextView uevent, TextView key)
{
	while (!uevent.empty()) {
		const usize end = uevent.find('\n');
		const TextView line = uevent.first(end);
		if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == '=')
			return line.skip(key.size() + 1);
		uevent = uevent.skip(end + 1);
	}
	return {};
}

} // namespace rnbd
