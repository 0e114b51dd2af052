// SPDX-License-Identifier: GPL-2.0
// The accounting of a connection's send queue when several CPUs post and completions arrive.
#include <rtrs/core/chain.hh>
#include <rtrs/core/connection.hh>

#include "cases.h"
#include "device.hh"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;

namespace {

rtrs_queue_config send_config(u32 wrs, u32 max_chain, u32 interval)
{
	rtrs_queue_config c{};
	c.send_wrs = wrs;
	c.max_chain = max_chain;
	c.signal_interval = interval;
	return c;
}

Status post_one(Connection &con, u32 length, Signal signal = Signal::WhenDue)
{
	ib_rdma_wr wrs[4] = {};
	for (u32 i = 0; i < length; i++) {
		wrs[i].wr.opcode = IB_WR_RDMA_WRITE;
		wrs[i].wr.next = i + 1 < length ? &wrs[i + 1].wr : nullptr;
	}
	return con.post_send(&wrs[0].wr, &wrs[length - 1].wr, {.work_requests = length}, signal);
}

} // namespace

// A queue pair that is given more than it holds breaks; one that waits for a completion which
// nobody asked for waits for ever.
CASE(send_queue_is_never_overrun)
{
	constexpr u32 kPosters = 3;
	constexpr u32 kCapacity = 13;
	constexpr u32 kChains = 300;
	auto made = fake::Device::create(send_config(kCapacity, 4, 8));
	REQUIRE(made.ok());
	fake::Device &device = **made;
	u32 left = kPosters;
	u32 lost = 0;
	u32 full = 0;
	u32 wrs[kPosters] = {};
	REQUIRE(side_by_side<kPosters + 1>([&](unsigned int i) {
		if (i == kPosters) {
			while (__atomic_load_n(&left, __ATOMIC_SEQ_CST)) {
				device.complete_one();
				breathe();
			}
			return;
		}
		for (u32 n = 0; n < kChains; n++) {
			const u32 length = 1 + (n + i) % 4;
			const unsigned long end = jiffies + kLong;
			u32 tries = 0;
			Status s = post_one(device.connection(), length);
			while (s.code() == -EAGAIN && time_before(jiffies, end)) {
				__atomic_fetch_add(&full, 1u, __ATOMIC_SEQ_CST);
				// Where the clock is coarse, others get their turn by a sleep only.
				if (++tries % 8)
					breathe();
				else
					schedule_timeout_uninterruptible(1);
				s = post_one(device.connection(), length);
			}
			if (!s.ok()) {
				__atomic_fetch_add(&lost, 1u, __ATOMIC_SEQ_CST);
				break;
			}
			wrs[i] += length;
		}
		__atomic_fetch_sub(&left, 1u, __ATOMIC_SEQ_CST);
	}));
	EXPECT_EQ(lost, 0);
	EXPECT(full > 0);
	EXPECT(device.most_waiting <= kCapacity);
	EXPECT_EQ(device.posted, wrs[0] + wrs[1] + wrs[2]);
	EXPECT_EQ(device.connection().counters().sum(&WrCounters::work_requests), device.posted);
	EXPECT_EQ(device.connection().counters().sum(&WrCounters::signaled), device.signaled);
	// Completions cost: only the few that are needed.
	EXPECT(device.signaled < device.posted);
}

CASE(send_queue_refusal_gives_the_room_back)
{
	auto made = fake::Device::create(send_config(8, 4, 4));
	REQUIRE(made.ok());
	fake::Device &device = **made;
	device.refuse_with = -EIO;
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(post_one(device.connection(), 3).code(), -EIO);
	EXPECT_EQ(device.connection().counters().sum(&WrCounters::doorbells), 0);
	device.refuse_with = 0;
	// Everything fits that did before, and no more.
	EXPECT(post_one(device.connection(), 4).ok());
	EXPECT(post_one(device.connection(), 4).ok());
	EXPECT_EQ(post_one(device.connection(), 1).code(), -EAGAIN);
	EXPECT(device.complete_one());
	EXPECT(post_one(device.connection(), 1).ok());
}

CASE(send_queue_must_signal_is_signaled)
{
	auto made = fake::Device::create(send_config(64, 2, 32));
	REQUIRE(made.ok());
	fake::Device &device = **made;
	EXPECT(post_one(device.connection(), 2).ok());
	EXPECT_EQ(device.signaled, 0);
	EXPECT(post_one(device.connection(), 1, Signal::Always).ok());
	EXPECT_EQ(device.signaled, 1);
	EXPECT(device.complete_one());
	EXPECT_EQ(device.waiting, 0);
	EXPECT(!device.complete_one());
}

// Of work requests that point to others from the last time.
CASE(send_queue_links_keep_their_order)
{
	ib_send_wr wrs[6] = {};
	for (ib_send_wr &wr : wrs)
		wr.next = &wrs[5];
	Links front, back;
	front.append(wrs[0]);
	back.append(wrs[3]);
	wrs[1].next = &wrs[2];
	front.append(wrs[1], wrs[2]);
	back.append(wrs[4]);
	front.append(back);
	EXPECT(front.last() == &wrs[4]);
	u32 n = 0;
	for (const ib_send_wr *wr = front.close(); wr; wr = wr->next, n++)
		REQUIRE(wr == &wrs[n]);
	EXPECT_EQ(n, 5u);
}
