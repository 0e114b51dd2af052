// SPDX-License-Identifier: GPL-2.0
// Whether an export has its device alone, and what uses it instead.
#include <rnbd/pure/local_use.hh>

using namespace rnbd;

TEST(LocalUse, Words)
{
	EXPECT_EQ(parse_local_use(TextView("exclusive")).value(), LocalUse::Exclusive);
	EXPECT_EQ(parse_local_use(TextView("shared")).value(), LocalUse::Shared);
	for (LocalUse use : kLocalUses) {
		const Result<LocalUse> parsed = parse_local_use(TextView::of(to_text(use)));
		ASSERT_TRUE(parsed.ok());
		EXPECT_EQ(parsed.value(), use);
	}
	for (const char *wrong : {"", "exclusiv", "sharedd", "Shared", "1", "shared exclusive"})
		EXPECT_EQ(parse_local_use(TextView::of(wrong)).code(), -EINVAL) << wrong;
}

TEST(LocalUse, DeviceNumbers)
{
	const Result<DeviceNumber> number = parse_device_number("259:1048575\n");
	ASSERT_TRUE(number.ok());
	EXPECT_EQ(number.value(), (DeviceNumber{259, 1048575}));
	for (const char *wrong :
	     {"", ":", "8:", ":1", "8", "8:1:2", "8:-1", "-1:1", "a:1", "8: 1", "99999999999:1"})
		EXPECT_EQ(parse_device_number(TextView::of(wrong)).code(), -EINVAL) << wrong;
}

TEST(LocalUse, Mounts)
{
	const struct {
		const char *line;
		DeviceNumber device;
		const char *point, *source;
	} cases[] = {
	    {"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
	     {98, 0},
	     "/mnt2",
	     "/dev/root"},
	    // No optional field, several, a blank in a name, and a name that is a dash.
	    {"36 35 8:17 / /srv\\040x rw - xfs /dev/sdb1 rw", {8, 17}, "/srv\\040x", "/dev/sdb1"},
	    {"40 1 0:41 /@ / rw shared:1 master:2 - btrfs /dev/sda2 rw,subvol=/@",
	     {0, 41},
	     "/",
	     "/dev/sda2"},
	    {"41 1 0:5 / - rw - devtmpfs udev rw", {0, 5}, "-", "udev"},
	    {"41 1 0:5 - /dev rw - devtmpfs udev rw", {0, 5}, "/dev", "udev"},
	};
	for (const auto &c : cases) {
		const Result<Mount> mount = parse_mount(TextView::of(c.line));
		ASSERT_TRUE(mount.ok()) << c.line;
		EXPECT_EQ(mount.value().device, c.device) << c.line;
		EXPECT_EQ(mount.value().point, TextView::of(c.point)) << c.line;
		EXPECT_EQ(mount.value().source, TextView::of(c.source)) << c.line;
	}
	for (const char *wrong :
	     {"", "36 35 98:0", "36 35 98 / /mnt rw - ext3 /dev/root rw",
	      "36 35 98:0 / /mnt rw ext3 /dev/root rw", "36 35 98:0 / /mnt rw - ext3"})
		EXPECT_FALSE(parse_mount(TextView::of(wrong)).ok()) << wrong;
}
