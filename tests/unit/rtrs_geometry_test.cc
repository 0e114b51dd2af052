// SPDX-License-Identifier: GPL-2.0
// Server parameters and memory regions (protocol A.4, F.5).
#include <rtrs/pure/geometry.hh>
#include <rtrs/wire/info.hh>

#include <algorithm>
#include <vector>

using namespace rtrs;

namespace {
GeometryFault check(s64 chunk, s64 depth, u32 header = 4096)
{
	return check_geometry(chunk, depth, header);
}
} // namespace

TEST(Geometry, Defaults)
{
	EXPECT_EQ(check(kDefaultChunkSize, kDefaultQueueDepth), GeometryFault::None);
	EXPECT_EQ(kDefaultChunkSize - 4096u, 126976u);
}

TEST(Geometry, ChunkSize)
{
	EXPECT_EQ(check(8192, 512), GeometryFault::None);
	EXPECT_EQ(check(8191, 512), GeometryFault::ChunkTooSmall);
	EXPECT_EQ(check(4096, 512), GeometryFault::ChunkTooSmall);
	EXPECT_EQ(check(0, 512), GeometryFault::ChunkTooSmall);
	EXPECT_EQ(check(-131072, 512), GeometryFault::ChunkTooSmall);
	EXPECT_EQ(check(8193, 512), GeometryFault::ChunkNoPowerOfTwo);
	EXPECT_EQ(check(131073, 512), GeometryFault::ChunkNoPowerOfTwo);
	EXPECT_EQ(check(126976, 512), GeometryFault::ChunkNoPowerOfTwo);
	// 64-KiB pages: the header alone fills it.
	EXPECT_EQ(check(65536, 512, 65536), GeometryFault::ChunkTooSmall);
	EXPECT_EQ(check(131072, 512, 65536), GeometryFault::None);
}

TEST(Geometry, QueueDepth)
{
	EXPECT_EQ(check(8192, 0), GeometryFault::DepthOutOfRange);
	EXPECT_EQ(check(8192, -1), GeometryFault::DepthOutOfRange);
	EXPECT_EQ(check(8192, 65536), GeometryFault::DepthOutOfRange);
	EXPECT_EQ(check(8192, 1), GeometryFault::None);
	EXPECT_EQ(check(8192, 500), GeometryFault::None);
}

TEST(Geometry, TwentyEightBits)
{
	EXPECT_EQ(check(8192, 32768), GeometryFault::None);
	EXPECT_EQ(check(8192, 32769), GeometryFault::TooManyBits);
	EXPECT_EQ(check(8192, 65535), GeometryFault::TooManyBits);
	EXPECT_EQ(check(131072, 2048), GeometryFault::None);
	EXPECT_EQ(check(131072, 2049), GeometryFault::TooManyBits);
	EXPECT_EQ(check(1 << 28, 1), GeometryFault::None);
	EXPECT_EQ(check(1 << 28, 2), GeometryFault::TooManyBits);
	EXPECT_EQ(check(1 << 29, 1), GeometryFault::TooManyBits);
	EXPECT_EQ(check(s64{1} << 40, 1), GeometryFault::TooManyBits);
}

TEST(Geometry, AgreesWithTheImmediate)
{
	for (u32 bits = 13; bits <= 30; bits++) {
		for (s64 depth : {1, 2, 3, 511, 512, 513, 2048, 2049, 32768, 65535}) {
			bool good = check(s64{1} << bits, depth) == GeometryFault::None;
			Result<ImmLayout> l = ImmLayout::create(QueueDepth{static_cast<u32>(depth)},
								ByteCount{1u << bits});
			EXPECT_EQ(good, l.ok()) << bits << ' ' << depth;
		}
	}
}

TEST(Geometry, EveryFaultHasItsWords)
{
	EXPECT_STREQ(to_text(GeometryFault::None), "valid");
	EXPECT_NE(std::string(to_text(GeometryFault::ChunkTooSmall)).find("max_chunk_size"),
		  std::string::npos);
	EXPECT_NE(std::string(to_text(GeometryFault::DepthOutOfRange)).find("sess_queue_depth"),
		  std::string::npos);
}

TEST(SplitChunks, OneRegionPerChunk)
{
	Result<RegionSplit> s = split_chunks(QueueDepth{512}, 256, true);
	EXPECT_EQ(s->count, 512u);
	EXPECT_EQ(s->chunks_per_region, 1u);
}

TEST(SplitChunks, FewestThatDivideEvenly)
{
	const struct {
		u32 depth, pages, count;
	} cases[] = {
	    {512, 512, 1}, {512, 511, 2},   {512, 256, 2}, {512, 255, 4},     {513, 512, 3},
	    {1, 1, 1},	   {509, 508, 509}, {100, 64, 2},  {65535, 256, 257}, {512, 0xffffffff, 1},
	};
	for (const auto &c : cases) {
		Result<RegionSplit> s = split_chunks(QueueDepth{c.depth}, c.pages, false);
		ASSERT_TRUE(s.ok());
		EXPECT_EQ(s->count, c.count) << c.depth << ' ' << c.pages;
	}
	EXPECT_EQ(code(split_chunks(QueueDepth{0}, 1, false)), -22);
	EXPECT_EQ(code(split_chunks(QueueDepth{1}, 0, false)), -22);
}

TEST(SplitChunks, AlwaysValidAndMinimal)
{
	for (u32 depth = 1; depth <= 600; depth++) {
		for (u32 pages = 1; pages <= 600; pages++) {
			Result<RegionSplit> s = split_chunks(QueueDepth{depth}, pages, false);
			ASSERT_TRUE(s.ok());
			ASSERT_EQ(s->count * s->chunks_per_region, depth);
			ASSERT_LE(s->chunks_per_region, pages);
			for (u32 fewer = s->count - 1; fewer >= 1; fewer--)
				ASSERT_FALSE(depth % fewer == 0 && depth / fewer <= pages);
		}
	}
}

TEST(Connections, NoMoreThanAServerTakes)
{
	EXPECT_EQ(irq_connections(1, 0), 1u);
	EXPECT_EQ(irq_connections(256, 256), 256u);
	EXPECT_EQ(irq_connections(1024, 0), 1024u);
	EXPECT_EQ(irq_connections(1025, 0), 1024u);
	EXPECT_EQ(irq_connections(768, 768), 256u);
	EXPECT_EQ(irq_connections(8192, kMaxPollQueues), 1u);
	for (u32 poll : {0u, 1u, 768u, kMaxPollQueues})
		EXPECT_LE(1 + irq_connections(8192, poll) + poll, kMaxPathConnections);
}

// Protocol J.5: a path has as many as were granted, whatever was asked for.
TEST(Geometry, SplitConnections)
{
	for (u32 irq = 1; irq < 20; irq++)
		for (u32 poll = 0; poll < 10; poll++)
			for (u32 total = kMinConnections; total < 40; total++) {
				const ConnectionSplit asked{irq, poll};
				const ConnectionSplit got = split_connections(asked, total);
				EXPECT_EQ(got.total(), std::min(total, asked.total()));
				EXPECT_GE(got.irq, 1u);
				EXPECT_LE(got.irq, irq);
				EXPECT_LE(got.poll, poll);
			}
	EXPECT_EQ(split_connections({8, 0}, 5), (ConnectionSplit{4, 0}));
	EXPECT_EQ(split_connections({8, 2}, 5), (ConnectionSplit{2, 2}));
	EXPECT_EQ(split_connections({8, 8}, 5), (ConnectionSplit{1, 3}));
}

TEST(Geometry, GrantConnections)
{
	EXPECT_EQ(grant_connections(9, 0), 9u);
	EXPECT_EQ(grant_connections(9, 20), 9u);
	EXPECT_EQ(grant_connections(9, 5), 5u);
	EXPECT_EQ(grant_connections(9, 1), kMinConnections);
	EXPECT_EQ(grant_connections(2, 1), kMinConnections);
}

// Each has a vector that is there, none has two while others have none, and neighbours lie apart.
TEST(Geometry, SpreadVectors)
{
	for (u32 vectors = 1; vectors < 20; vectors++)
		for (u32 count = 1; count < 40; count++) {
			std::vector<u32> used(vectors);
			for (u32 i = 0; i < count; i++) {
				const u32 v = spread_vector(i, count, vectors);
				ASSERT_LT(v, vectors);
				used[v]++;
			}
			const auto [least, most] = std::minmax_element(used.begin(), used.end());
			EXPECT_LE(*most - *least, 1u);
		}
	EXPECT_EQ(spread_vector(1, 2, 16), 8u);
	EXPECT_EQ(spread_vector(3, 4, 4), 3u);
	EXPECT_EQ(spread_vector(5, 8, 4), 1u);
	EXPECT_EQ(spread_vector(9, 8, 16), 9u); // that of a poll queue
}
