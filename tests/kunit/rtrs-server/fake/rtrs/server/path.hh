// SPDX-License-Identifier: GPL-2.0
// A path and a connection without a device: they count what the slots ask of them, and do what the
// case tells them to do with a work request.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/percpu.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/core/memory.hh>
#include <rtrs/server/refusals.hh>
#include <rtrs/server/slot.hh>
#include <rtrs/server/stats.hh>
#include <rtrs/wire/rkey.hh>

namespace rtrs::server {

// The chunks' regions: every key is the slot's number.
class PathRegions {
public:
	struct Region {
		u32 slot;
		Rkey rkey() const { return {slot}; }
	};
	Region region(u32 slot) const { return {slot}; }
	// Between the look at the path's state and the call of the user.
	void sync_for_cpu(Slot, u32, u32) const
	{
		if (looked)
			looked(looked_data);
	}

	void (*looked)(void *data) = nullptr;
	void *looked_data = nullptr;
};

class Path {
public:
	explicit Path(u16 tag) : tag_{tag} {}

	// As the real one, whose in-flight count may not be left more often than entered.
	bool enter()
	{
		if (closing())
			return false;
		add(inside, 1);
		return true;
	}
	void leave(u32 count = 1)
	{
		add(left, static_cast<int>(count));
		if (add(inside, -static_cast<int>(count)) < 0)
			add(broken, 1);
	}
	void refuse(Refusal why, const char *);
	void fail(const ib_wc &)
	{
		add(failures, 1);
		close();
	}
	void close() { __atomic_store_n(&closing_, true, __ATOMIC_SEQ_CST); }
	// A new path takes this one's place.
	void reopen() { __atomic_store_n(&closing_, false, __ATOMIC_SEQ_CST); }
	bool closing() const { return __atomic_load_n(&closing_, __ATOMIC_SEQ_CST); }
	PathTag tag() const { return tag_; }
	const char *name() const { return "fake"; }
	PathRegions &regions() { return regions_; }
	cxxrt::PerCpu<PathStats> &stats() { return stats_; }
	cxxrt::PerCpu<WrCounters> &wr_counters() { return counters_; }

	// ENOMEM.
	Status prepare()
	{
		stats_ = TRY(cxxrt::PerCpu<PathStats>::create());
		counters_ = TRY(cxxrt::PerCpu<WrCounters>::create());
		return {};
	}
	u64 answered() const { return counters_.sum(&WrCounters::requests); }
	int users() const { return __atomic_load_n(&inside, __ATOMIC_SEQ_CST); }

	int inside = 0;
	int left = 0;
	int broken = 0; // left more often than entered
	int refused = 0;
	int failures = 0;

private:
	static int add(int &n, int by) { return __atomic_add_fetch(&n, by, __ATOMIC_SEQ_CST); }

	const PathTag tag_;
	bool closing_ = false;
	PathRegions regions_;
	cxxrt::PerCpu<PathStats> stats_;
	cxxrt::PerCpu<WrCounters> counters_;
};

class ServerConnection {
public:
	explicit ServerConnection(Path &path) : path_(path) {}

	// A connection of I/O.
	u16 cid() const { return 1; }
	// See the test.
	void post_slot(RequestSlot &slot);
	void invalidate_arrived(RequestSlot &slot) { post_slot(slot); }
	// Each is posted by itself.
	void on_invalidated(RequestSlot &slot, bool ok) { ok ? slot.run() : slot.dropped(); }
	Status post_send(ib_send_wr *first, ib_send_wr *last, const ChainCost &cost,
			 Signal signal = Signal::WhenDue);
	void on_send_completed() {}

	// Called between the post of an answer and the end of the call that posts it: what is on
	// the wire is ahead of who put it there.
	void (*overtake)(void *data) = nullptr;
	void *overtake_data = nullptr;

private:
	Path &path_;
};

} // namespace rtrs::server
