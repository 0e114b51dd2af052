// SPDX-License-Identifier: GPL-2.0
// Statistics of one path: counted per CPU, so that they cost no shared cache line, and shown in
// its directory stats/ (protocol F.1).
//
// A reset stores what the counters are at that time and later shows the difference: nothing that
// counts is written by another CPU, and the number of requests in flight is never touched.
#pragma once

#include <cxxrt/histogram.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/percpu.hh>
#include <cxxrt/sysfs.hh>
#include <rtrs/pure/path_errors.hh>
#include <rtrs/wire/units.hh>

namespace rtrs::client {

// Row i counts requests that took less than 2^i ms; the last one all that took longer.
constexpr u32 kLatencyRows = 18;
// Row i counts lists of up to 2^i entries.
constexpr u32 kListRows = 8;

struct PathCounters {
	u64 reads;
	u64 read_bytes; // user messages included, as for writes
	u64 writes;
	u64 write_bytes;
	u64 started; // in flight: started less finished, over all CPUs
	u64 finished;
	u64 failovers; // requests taken over from a path that died
	u64 migrated_to;
	u64 read_latency[kLatencyRows];
	u64 write_latency[kLatencyRows];
	u64 read_latency_max; // ns
	u64 write_latency_max;
	u64 read_us[cxxrt::kMicrosecondRows];
	u64 write_us[cxxrt::kMicrosecondRows];
	u64 errors[kPathErrors];
	u64 lists[kListRows];
	u64 completions;      // work completions
	u64 completion_runs;  // how often completions were handled: several at a time
	u64 completion_batch; // in the present run
	u64 completion_max;   // in one run
	u64 completion_run;   // number of the present run
};

// Requests that were submitted on a CPU and ended on another one. Written by that other one.
struct MigratedFrom {
	u64 count;
};

class PathStats {
public:
	// ENOMEM. May sleep.
	static Result<cxxrt::Box<PathStats>> create();
	// The directory "stats" below `parent`. EEXIST, ENOMEM. May sleep.
	Status create_files(kobject *parent);
	void remove_files() { dir_.reset(); }

	// Any context.
	void submitted(Direction direction, u32 bytes, u32 entries)
	{
		const bool read = direction == Direction::Read;
		live_.inc(&PathCounters::started);
		live_.inc(read ? &PathCounters::reads : &PathCounters::writes);
		live_.add(read ? &PathCounters::read_bytes : &PathCounters::write_bytes,
			  u64{bytes});
		if (entries)
			live_.inc(&PathCounters::lists, list_row(entries));
	}
	// `ns`: from its submission to its end.
	void finished(Direction direction, u64 ns, int submit_cpu);
	// Work completions that are handled now.
	void completed(u32 count = 1);
	// Whatever was reset.
	u64 completion_runs() const { return live_.sum(&PathCounters::completion_runs); }
	void failed_over() { live_.inc(&PathCounters::failovers); }
	void error(PathError kind)
	{
		live_.inc(&PathCounters::errors, static_cast<cxxrt::usize>(kind));
	}
	// Of those that were submitted on this CPU. A moment's figure, too small while one ends.
	u64 inflight_of(int cpu) const
	{
		const PathCounters &c = live_.on(cpu);
		// Of all that ended on it, without those of others; and those that others ended.
		const u64 ended = READ_ONCE(c.finished) - READ_ONCE(c.migrated_to) +
				  READ_ONCE(migrated_from_.on(cpu).count);
		const s64 left = static_cast<s64>(READ_ONCE(c.started) - ended);
		return left > 0 ? static_cast<u64>(left) : 0;
	}
	// A sum over all CPUs: for readers that are not on every request's way.
	u64 inflight() const;

	// By the owner of the path only.
	void reconnected() { WRITE_ONCE(reconnects_, reconnects_ + 1); }
	void reconnect_failed() { WRITE_ONCE(reconnect_failures_, reconnect_failures_ + 1); }
	// Whatever was reset.
	u64 reconnects() const { return READ_ONCE(reconnects_); }
	u64 reconnect_failures() const { return READ_ONCE(reconnect_failures_); }

private:
	static u32 list_row(u32 entries)
	{
		return cxxrt::min_of(static_cast<u32>(order_base_2(entries)), kListRows - 1);
	}

	// Since the last reset of that statistic.
	u64 since_reset(u64 PathCounters::*member) const
	{
		return live_.sum(member) - base_.sum(member);
	}
	template <u32 N> u64 since_reset(u64 (PathCounters::*rows)[N], u32 row) const
	{
		u64 total = 0;
		live_.for_each([&](int cpu, const PathCounters &live) {
			total +=
			    READ_ONCE((live.*rows)[row]) - READ_ONCE((base_.on(cpu).*rows)[row]);
		});
		return total;
	}

	void show_rdma(cxxrt::SysfsText &out);
	void show_reconnects(cxxrt::SysfsText &out);
	void show_migration(cxxrt::SysfsText &out);
	void show_migration_from(cxxrt::SysfsText &out);
	void show_migration_to(cxxrt::SysfsText &out);
	void show_latency(cxxrt::SysfsText &out);
	void show_microseconds(cxxrt::SysfsText &out);
	void show_errors(cxxrt::SysfsText &out);
	void show_lists(cxxrt::SysfsText &out);
	void show_completions(cxxrt::SysfsText &out);
	void show_reset_all(cxxrt::SysfsText &out);
	Status store_rdma(TextView text, cxxrt::SysfsCall &);
	Status store_reconnects(TextView text, cxxrt::SysfsCall &);
	Status store_migration(TextView text, cxxrt::SysfsCall &);
	Status store_latency(TextView text, cxxrt::SysfsCall &);
	Status store_microseconds(TextView text, cxxrt::SysfsCall &);
	Status store_errors(TextView text, cxxrt::SysfsCall &);
	Status store_lists(TextView text, cxxrt::SysfsCall &);
	Status store_completions(TextView text, cxxrt::SysfsCall &);
	Status store_reset_all(TextView text, cxxrt::SysfsCall &);

	void reset_rdma();
	void reset_reconnects();
	void reset_migration();
	void reset_latency();
	template <u32 N> void reset_rows(u64 (PathCounters::*rows)[N]);
	void reset_microseconds();
	void reset_errors();
	void reset_lists();
	void reset_completions();

	static const cxxrt::SysfsFile<PathStats> kFiles[];

	cxxrt::PerCpu<PathCounters> live_;
	cxxrt::PerCpu<MigratedFrom> migrated_from_;
	u64 reconnects_ = 0;
	u64 reconnect_failures_ = 0;

	// Values at the last reset, under reset_lock_ for those who write.
	cxxrt::Mutex reset_lock_{cxxrt::lock_class<"rtrs_stats_reset">()};
	cxxrt::PerCpu<PathCounters> base_;
	cxxrt::PerCpu<MigratedFrom> base_from_;
	u64 base_reconnects_ = 0;
	u64 base_failures_ = 0;

	cxxrt::SysfsDir dir_;
};

} // namespace rtrs::client
