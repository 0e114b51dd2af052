// SPDX-License-Identifier: GPL-2.0
// The table of kinds of disks, and what their texts make of an identity.
#include <rnbd/pure/disk_identity.hh>

using namespace rnbd;

namespace {

template <class F> std::string written(F &&write)
{
	char memory[512];
	cxxrt::TextWriter out(memory, sizeof(memory));
	const bool is_one = write(out);
	EXPECT_FALSE(out.truncated());
	return is_one ? str(out.text()) : "none";
}

std::string mapper(std::string_view uuid)
{
	return written([&](cxxrt::TextWriter &out) { return write_mapper_id(out, text(uuid)); });
}

std::string array(std::string_view uuid)
{
	return written([&](cxxrt::TextWriter &out) { return write_array_id(out, text(uuid)); });
}

std::string partition(std::string_view uuid, u64 start = 2048)
{
	return written(
	    [&](cxxrt::TextWriter &out) { return write_partition_id(out, text(uuid), {start}); });
}

DiskKind kind(std::string_view name)
{
	return kind_of_disk(text(name));
}

} // namespace

TEST(DiskIdentity, KindIsThatOfTheDriver)
{
	EXPECT_EQ(kind("dm-0"), DiskKind::Mapper);
	EXPECT_EQ(kind("dm-1234"), DiskKind::Mapper);
	for (const char *name : {"md0", "md127", "md_d0", "md_home"})
		EXPECT_EQ(kind(name), DiskKind::Array) << name;
	EXPECT_EQ(kind("sda"), DiskKind::Scsi);
	EXPECT_EQ(kind("sdaz"), DiskKind::Scsi);
	EXPECT_EQ(kind("vdb"), DiskKind::Virtio);
	EXPECT_EQ(kind("nvme0n1"), DiskKind::Nvme);
	EXPECT_EQ(kind("mmcblk0"), DiskKind::Mmc);
	EXPECT_EQ(kind("rnbd3"), DiskKind::Rnbd);
	for (const char *name :
	     {"",      "dm",	  "dm-",   "dm-x", "md",     "mdx",	     "sd",
	      "sda1",  "sr0",	  "vd",	   "vda1", "mmcblk", "mmcblk0boot0", "mmcblk0gp1",
	      "rnbd",  "rnbd0p1", "loop0", "nbd0", "nullb0", "ram0",	     "bcache0",
	      "drbd0", "zram0",	  "zd0",   "rbd0", "xvda",   "pmem0"})
		EXPECT_EQ(kind(name), DiskKind::Other) << name;
}

TEST(DiskIdentity, OnlyDisksThatLieOverNoOthersAreAskedThroughTheirDriver)
{
	for (const IdentitySource &source : kIdentitySources) {
		EXPECT_NE(source.kind, DiskKind::Other);
		if (source.form == IdentitySource::Form::Driver) {
			EXPECT_EQ(source.kind, DiskKind::Scsi);
			EXPECT_EQ(source.file, nullptr);
		} else {
			ASSERT_NE(source.file, nullptr);
		}
		EXPECT_EQ(source.form == IdentitySource::Form::Mapper,
			  source.kind == DiskKind::Mapper);
		EXPECT_EQ(source.form == IdentitySource::Form::Array,
			  source.kind == DiskKind::Array);
	}
}

TEST(DiskIdentity, MapperHasItsOwn)
{
	EXPECT_EQ(mapper("LVM-abc"), "dm.LVM-abc");
	EXPECT_EQ(mapper("LVM-abc-real"), "dm.LVM-abc-real");
	EXPECT_EQ(mapper("TEST-1"), "dm.TEST-1");
	EXPECT_EQ(mapper(""), "none");
}

TEST(DiskIdentity, MultipathIsItsUnit)
{
	const std::string naa = "6001405bd1000000000000000000000f";
	EXPECT_EQ(mapper("mpath-3" + naa), "naa." + naa);
	EXPECT_EQ(mapper("mpath-35000C500A0000001"), "naa.5000c500a0000001");
	EXPECT_EQ(mapper("mpath-20011223344556677"), "eui.0011223344556677");
	EXPECT_EQ(mapper("mpath-2001122334455667788990011"), "eui.001122334455667788990011");
	EXPECT_EQ(mapper("mpath-eui.0011223344556677"), "eui.0011223344556677");
	EXPECT_EQ(mapper("mpath-uuid.5f0c3a52-7d1b-4c38-9e55-00112233aabb"),
		  "uuid.5f0c3a52-7d1b-4c38-9e55-00112233aabb");
	EXPECT_EQ(mapper("mpath-nvme.1b36-31-51-00000001"), "nvme.1b36-31-51-00000001");
	// Nothing that the unit would say in the same words.
	for (const char *other : {"", "3", "2", "1ATA_DISK_1", "SVENDOR_MODEL_1",
				  "35000c500a000000", "35000c500a00000012", "35000c500a000000g",
				  "200112233445566", "eui.", "eui.001122334455667788990011"})
		EXPECT_EQ(mapper(std::string("mpath-") + other), std::string("dm.mpath-") + other);
}

TEST(DiskIdentity, PartOfAMapIsNotTheMap)
{
	EXPECT_EQ(mapper("part1-mpath-35000c500a0000001"), "dm.part1-mpath-35000c500a0000001");
	EXPECT_EQ(mapper("part2-LVM-abc"), "dm.part2-LVM-abc");
	EXPECT_EQ(mapper("part-x"), "dm.part-x");
	EXPECT_EQ(mapper("partition"), "dm.partition");
	// By the kernel's number of the device.
	EXPECT_EQ(mapper("part1-devnode_8:0_Wh5pYvM"), "none");
	EXPECT_EQ(mapper("part1-"), "none");
	EXPECT_EQ(mapper("part1-CRYPT-PLAIN-x"), "none");
	EXPECT_EQ(mapper("part1-part2-CRYPT-PLAIN-x"), "none");
}

TEST(DiskIdentity, CryptIsThatOfItsHeader)
{
	const std::string header = "0123456789abcdef0123456789abcdef";
	for (const std::string type : {"LUKS1", "LUKS2", "VERITY", "BITLK"})
		EXPECT_EQ(mapper("CRYPT-" + type + "-" + header + "-home"),
			  "dm.CRYPT-" + type + "-" + header + "-home");
	// A name is what others have, too.
	for (const std::string &none :
	     {std::string("CRYPT-PLAIN-home"), std::string("CRYPT-TEMP-swap"),
	      std::string("CRYPT-"), std::string("CRYPT-LUKS2"), "CRYPT-LUKS2-" + header,
	      "CRYPT-LUKS2-" + header.substr(1) + "-home", "CRYPT-LUKS2-" + header + "0-home",
	      "CRYPT-LUKS2-g" + header.substr(1) + "-home",
	      "CRYPT-LUKS2-" + std::string(32, '0') + "-home"})
		EXPECT_EQ(mapper(none), "none") << none;
}

TEST(DiskIdentity, ArrayHasItsOwn)
{
	EXPECT_EQ(array("11223344-5566-7788-99aa-bbccddeeff00"),
		  "md.11223344-5566-7788-99aa-bbccddeeff00");
	EXPECT_EQ(array("00000000-0000-0000-0000-000000000000"), "none");
	EXPECT_EQ(array(""), "none");
}

TEST(DiskIdentity, PartitionIsThatOfItsEntry)
{
	EXPECT_EQ(partition("6C9A1B52-0d6e-4c9b-8d11-0123456789ab", 4096),
		  "-part.6c9a1b52-0d6e-4c9b-8d11-0123456789ab");
	// Moved, it is the same.
	EXPECT_EQ(partition("6c9a1b52-0d6e-4c9b-8d11-0123456789ab", 4096),
		  partition("6c9a1b52-0d6e-4c9b-8d11-0123456789ab", 8192));
	EXPECT_EQ(partition("00000000-0000-0000-0000-000000000000"), "none");
	EXPECT_EQ(partition(""), "none");
}

TEST(DiskIdentity, PartitionWithANumberIsThatOfItsPlace)
{
	EXPECT_EQ(partition("c0ffee01-01", 2048), "-part.c0ffee01-01.2048");
	EXPECT_EQ(partition("c0ffee01-05", 4096), "-part.c0ffee01-05.4096");
	EXPECT_NE(partition("c0ffee01-05", 2048), partition("c0ffee01-05", 4096));
	EXPECT_EQ(partition("00000000-01"), "none") << "a disk without a signature";
	EXPECT_EQ(partition("01"), "none");
}

TEST(DiskIdentity, UeventTellsValues)
{
	const TextView event = text("MAJOR=8\nMINOR=0\nDEVNAME=sda\nDEVNAMES=sdb\nEMPTY=\nLAST=x");
	EXPECT_EQ(str(uevent_value(event, "DEVNAME")), "sda");
	EXPECT_EQ(str(uevent_value(event, "LAST")), "x");
	for (const char *none : {"EMPTY", "DEV", "NAME", "OTHER", ""})
		EXPECT_EQ(str(uevent_value(event, TextView::of(none))), "") << none;
	EXPECT_EQ(str(uevent_value(text(""), "DEVNAME")), "");
}
