// SPDX-License-Identifier: GPL-2.0
// Whether an export has its device alone on the server's machine (the file local_use of an export),
// and what the kernel's lists say about other users of it. Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

enum class LocalUse : u8 {
	Exclusive, // claimed: mount, LVM, md, swap and mkfs on the server get EBUSY, or OPEN does
	Shared,	   // not claimed, as a device that is opened by its path
};

constexpr LocalUse kLocalUses[] = {LocalUse::Exclusive, LocalUse::Shared};

constexpr const char *to_text(LocalUse use)
{
	return use == LocalUse::Exclusive ? "exclusive" : "shared";
}

// EINVAL.
constexpr Result<LocalUse> parse_local_use(TextView t)
{
	for (LocalUse use : kLocalUses)
		if (t == TextView::of(to_text(use)))
			return use;
	return err::einval;
}

// A device number as text has it, "8:16".
struct DeviceNumber {
	u32 major;
	u32 minor;

	constexpr bool operator==(const DeviceNumber &) const = default;
};

// EINVAL.
constexpr Result<DeviceNumber> parse_device_number(TextView t)
{
	constexpr int kMost = 0x7fffffff;
	t = cxxrt::trim_newline(t);
	const usize colon = t.find(':');
	Result<int> major = cxxrt::parse_int(t.first(colon), 0, kMost);
	Result<int> minor = cxxrt::parse_int(t.skip(colon + 1), 0, kMost);
	if (!major.ok() || !minor.ok())
		return err::einval;
	return DeviceNumber{static_cast<u32>(major.value()), static_cast<u32>(minor.value())};
}

// One line of /proc/<pid>/mountinfo. Blanks in names stand there as \040.
struct Mount {
	DeviceNumber device; // major 0 where a file system has several devices, or none
	TextView point;
	TextView source; // mostly the node of the device
};

// EINVAL for other lines.
constexpr Result<Mount> parse_mount(TextView line)
{
	enum : u32 { kDevice = 2, kPoint = 4 };
	constexpr u32 kSourceBehindDash = 2;
	Mount mount{};
	bool good = false;
	u32 number = 0;
	u32 dash = 0; // number of the word
	cxxrt::any_word(line, [&](TextView word) {
		if (number == kDevice) {
			Result<DeviceNumber> device = parse_device_number(word);
			if (!device.ok())
				return true;
			mount.device = device.value();
		} else if (number == kPoint) {
			mount.point = word;
		} else if (number > kPoint && !dash && word == TextView("-")) {
			dash = number;
		} else if (dash && number == dash + kSourceBehindDash) {
			mount.source = word;
			good = true;
		}
		number++;
		return good;
	});
	if (!good)
		return err::einval;
	return mount;
}

} // namespace rnbd
