// SPDX-License-Identifier: GPL-2.0
// What a server remembers of its devices: who knows of a cache, and what was lost.
#include <rnbd/pure/write_cache_notice.hh>
#include <rnbd/pure/lost_flushes.hh>
#include <rnbd/pure/machine_id.hh>

using namespace rnbd;

TEST(WriteCacheNotice, AsOpenTold)
{
	EXPECT_FALSE(WriteCacheNotice(true).unaware());
	EXPECT_TRUE(WriteCacheNotice(false).unaware());
}

TEST(WriteCacheNotice, KnownWhenTheAnswerWasFollowed)
{
	WriteCacheNotice news(false);
	news.tells(false, 6);
	news.followed(6);
	EXPECT_TRUE(news.unaware()) << "no cache was told of";
	news.tells(true, 7);
	EXPECT_TRUE(news.unaware()) << "told is not known";
	news.followed(6);
	EXPECT_TRUE(news.unaware()) << "an older answer";
	// The answer was lost, and the transport asked again.
	news.tells(true, 8);
	EXPECT_TRUE(news.unaware());
	news.followed(0);
	EXPECT_TRUE(news.unaware()) << "a client that does not follow";
	news.followed(8);
	EXPECT_FALSE(news.unaware());
}

TEST(WriteCacheNotice, TheFirstAnswerThatToldOfItIsEnough)
{
	WriteCacheNotice news(false);
	news.tells(true, 7);
	news.tells(true, 8);
	news.followed(7);
	EXPECT_FALSE(news.unaware());
}

TEST(WriteCacheNotice, AnAnswerThatToldOtherwiseInBetween)
{
	WriteCacheNotice news(false);
	news.tells(true, 7);
	news.tells(false, 8);
	news.tells(true, 9);
	news.followed(7);
	EXPECT_TRUE(news.unaware()) << "the client may go by 8";
	news.followed(8);
	EXPECT_TRUE(news.unaware());
	news.followed(9);
	EXPECT_FALSE(news.unaware());
}

TEST(WriteCacheNotice, ACacheThatGoesAndComes)
{
	WriteCacheNotice news(true);
	news.tells(true, 1);
	EXPECT_FALSE(news.unaware());
	news.tells(false, 2);
	EXPECT_TRUE(news.unaware()) << "from before the answer on";
	news.tells(true, 3);
	news.followed(3);
	EXPECT_FALSE(news.unaware());
}

TEST(WriteCacheNotice, SerialsGoRound)
{
	EXPECT_EQ(next_serial(0), 1u);
	EXPECT_EQ(next_serial(0xffffffff), 1u);
	WriteCacheNotice news(false);
	news.tells(true, 0xffffffff);
	news.followed(0xfffffffe);
	EXPECT_TRUE(news.unaware());
	news.followed(1);
	EXPECT_FALSE(news.unaware());
}

TEST(LostFlushes, OfOneDiskAlone)
{
	LostFlushes losses;
	const DiskKey a = DiskKey::of(TextView("naa.1")), b = DiskKey::of("naa.2");
	const u32 before = losses.of(a);
	losses.add(a);
	EXPECT_NE(losses.of(a), before);
	EXPECT_EQ(losses.of(b), before);
	const u32 once = losses.of(a);
	losses.add(a);
	EXPECT_NE(losses.of(a), once);
	EXPECT_NE(losses.of(a), before);
}

TEST(LostFlushes, WhatIsLeftForTheNextLoad)
{
	alignas(LostFlushes) unsigned char memory[sizeof(LostFlushes)] = {};
	LostFlushes &losses = *reinterpret_cast<LostFlushes *>(memory);
	EXPECT_FALSE(losses.any());
	EXPECT_EQ(losses.of({7}), 0u);
	losses.add({7});
	EXPECT_TRUE(losses.any());
	const u32 known = losses.of({7}), other = losses.of({8});
	losses.add_unknown();
	EXPECT_NE(losses.of({7}), known);
	EXPECT_NE(losses.of({8}), other);
	EXPECT_TRUE(losses.any());
	// What is known of one disk comes on top of it.
	const u32 before = losses.of({7});
	losses.add({7});
	EXPECT_EQ(losses.of({7}), before + 1);
}

TEST(LostFlushes, DisksAreKnownByTheirIdentity)
{
	EXPECT_EQ(DiskKey::of(TextView("")).value, 0xcbf29ce484222325u);
	EXPECT_EQ(DiskKey::of(TextView("a")).value, 0xaf63dc4c8601ec8cu);
	EXPECT_EQ(DiskKey::of(TextView("foobar")).value, 0x85944171f73967e8u);
	EXPECT_FALSE(DiskKey::of(TextView("sda")) == DiskKey::of("sdb"));
}

TEST(LostFlushes, MoreDisksThanPlaces)
{
	LostFlushes losses;
	const u32 untouched = losses.of({999});
	for (u32 i = 0; i < LostFlushes::kPlaces; i++)
		losses.add({i});
	losses.add({3});
	const u32 once = losses.of({0}), twice = losses.of({3});
	EXPECT_EQ(losses.of({999}), untouched);
	losses.add({999});
	// All are other numbers than before, that of the one without a place as well.
	EXPECT_NE(losses.of({999}), untouched);
	for (const u32 old : {once, twice, untouched}) {
		EXPECT_NE(losses.of({0}), old);
		EXPECT_NE(losses.of({3}), old);
	}
	const u32 now = losses.of({0});
	losses.add({0});
	EXPECT_NE(losses.of({0}), now);
}

TEST(MachineId, WhatVendorsLeaveInThereIsNone)
{
	EXPECT_TRUE(is_machine_uuid("4c4c4544-0044-4a10-8051-b4c04f4e3732"));
	EXPECT_TRUE(is_machine_uuid("4C4C4544-0044-4A10-8051-B4C04F4E3732\n"));
	for (const char *none :
	     {"", " ", "Not Settable", "00000000-0000-0000-0000-000000000000",
	      "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "03000200-0400-0500-0006-000700080009",
	      "12345678-1234-5678-90AB-CDDEEFAABBCC", "4c4c4544-0044-4a10-8051-b4c04f4e373",
	      "4c4c4544-0044-4a10-8051-b4c04f4e37322", "4c4c4544-0044-4a10-8051-b4c04f4e373x"})
		EXPECT_FALSE(is_machine_uuid(none)) << none;
	EXPECT_FALSE(is_machine_uuid(nullptr));
}

TEST(MachineId, Blanks)
{
	EXPECT_EQ(str(trim_blanks(TextView("  S 1 \0\n"))), "S 1");
	EXPECT_EQ(str(trim_blanks(TextView(" \n"))), "");
	EXPECT_EQ(str(trim_blanks(TextView(""))), "");
}
