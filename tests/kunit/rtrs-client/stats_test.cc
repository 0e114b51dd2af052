// SPDX-License-Identifier: GPL-2.0
// The statistics of a path, counted by several CPUs and reset meanwhile (protocol F.1).
#include <rtrs/client/stats.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;
using rtrs::client::PathStats;

namespace {

constexpr unsigned int kThreads = 4;
constexpr u32 kRounds = 1000;

#define FOLDER "/sys/kernel/rtrs_kunit/stats/"

// Up to `count` numbers of a file; how many there were.
u32 read_numbers(const char *path, u64 *numbers, u32 count)
{
	char text[512] = {};
	file *f = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(f))
		return 0;
	loff_t at = 0;
	const ssize_t size = kernel_read(f, text, sizeof(text) - 1, &at);
	filp_close(f, nullptr);
	u32 found = 0;
	char *rest = text;
	while (size > 0 && found < count) {
		char *word = strsep(&rest, " \n");
		if (!word || !*word || kstrtoull(word, 10, &numbers[found]))
			break;
		found++;
	}
	return found;
}

bool reset(const char *path)
{
	file *f = filp_open(path, O_WRONLY, 0);
	if (IS_ERR(f))
		return false;
	loff_t at = 0;
	const bool ok = kernel_write(f, "1", 1, &at) == 1;
	filp_close(f, nullptr);
	return ok;
}

// Statistics with their files.
struct Shown {
	Status prepare()
	{
		stats = TRY(PathStats::create());
		parent = TRY(SysfsDir::create_empty(kernel_kobj, "rtrs_kunit", this));
		return stats->create_files(parent.kobj());
	}
	~Shown()
	{
		if (stats)
			stats->remove_files();
	}
	Box<PathStats> stats;
	SysfsDir parent;
};

} // namespace

CASE(stats_are_exact_under_threads)
{
	Shown shown;
	REQUIRE(shown.prepare().ok());
	PathStats &stats = *shown.stats;
	REQUIRE(side_by_side<kThreads>([&](unsigned int i) {
		const Direction d = i % 2 ? Direction::Read : Direction::Write;
		for (u32 n = 0; n < kRounds; n++) {
			stats.submitted(d, 10 + i, 1);
			const int cpu = raw_smp_processor_id();
			if (n % 16 == 0)
				breathe();
			stats.finished(d, ktime_get_ns(), cpu);
		}
	}));
	EXPECT_EQ(stats.inflight(), 0);
	u64 rdma[6] = {};
	EXPECT_EQ(read_numbers(FOLDER "rdma", rdma, 6), 6);
	EXPECT_EQ(rdma[0], 2 * kRounds);
	EXPECT_EQ(rdma[1], (11 + 13) * kRounds);
	EXPECT_EQ(rdma[2], 2 * kRounds);
	EXPECT_EQ(rdma[3], (10 + 12) * kRounds);
	EXPECT_EQ(rdma[4], 0);
}

// The choice of paths depends on the number in flight: a reset must not touch it.
CASE(stats_reset_loses_nothing_in_flight)
{
	Shown shown;
	REQUIRE(shown.prepare().ok());
	PathStats &stats = *shown.stats;
	bool stop = false;
	u32 resets = 0;
	u32 wild = 0;
	u32 left = kThreads;
	// Stays in flight all the time.
	stats.submitted(Direction::Read, 1, 1);
	REQUIRE(side_by_side<kThreads + 1>([&](unsigned int i) {
		if (i == kThreads) {
			while (!READ_ONCE(stop)) {
				WRITE_ONCE(resets, resets + reset(FOLDER "reset_all"));
				u64 rdma[6] = {};
				if (read_numbers(FOLDER "rdma", rdma, 6) != 6 || rdma[4] < 1 ||
				    rdma[4] > kThreads + 1 || rdma[0] > kThreads * kRounds)
					wild++;
				breathe();
			}
			return;
		}
		// On one CPU they would be done before the last thread has begun.
		const unsigned long limit = jiffies + kLong;
		while (!READ_ONCE(resets) && time_before(jiffies, limit))
			breathe();
		for (u32 n = 0; n < kRounds; n++) {
			stats.submitted(Direction::Read, 512, 1);
			breathe();
			stats.finished(Direction::Read, ktime_get_ns(), raw_smp_processor_id());
		}
		if (__atomic_sub_fetch(&left, 1u, __ATOMIC_SEQ_CST) == 0)
			WRITE_ONCE(stop, true);
	}));
	EXPECT(resets > 0);
	EXPECT_EQ(wild, 0);
	EXPECT_EQ(stats.inflight(), 1);
	EXPECT(reset(FOLDER "reset_all"));
	EXPECT_EQ(stats.inflight(), 1);
	stats.finished(Direction::Read, ktime_get_ns(), raw_smp_processor_id());
	EXPECT_EQ(stats.inflight(), 0);
}

CASE(stats_files_show_what_was_counted)
{
	Shown shown;
	REQUIRE(shown.prepare().ok());
	PathStats &stats = *shown.stats;
	u64 n[6] = {};
	stats.reconnected();
	stats.reconnected();
	stats.reconnect_failed();
	EXPECT_EQ(read_numbers(FOLDER "reconnects", n, 2), 2);
	EXPECT_EQ(n[0], 2);
	EXPECT_EQ(n[1], 1);
	EXPECT(reset(FOLDER "reconnects"));
	EXPECT_EQ(read_numbers(FOLDER "reconnects", n, 2), 2);
	EXPECT_EQ(n[0] + n[1], 0);
	// The reset of one statistic is not that of another.
	stats.failed_over();
	EXPECT(reset(FOLDER "reconnects"));
	EXPECT_EQ(read_numbers(FOLDER "rdma", n, 6), 6);
	EXPECT_EQ(n[5], 1);
}
