// SPDX-License-Identifier: GPL-2.0
// Counting, and what a reset means for each statistic.
#include <rtrs/client/stats.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

constexpr u64 kNsPerMs = 1'000'000;

u32 latency_row(u64 ns)
{
	return histogram_row(ns / kNsPerMs, kLatencyRows);
}

} // namespace

Result<Box<PathStats>> PathStats::create()
{
	Box<PathStats> s = TRY(make_box<PathStats>(GFP_KERNEL));
	s->live_ = TRY(PerCpu<PathCounters>::create());
	s->base_ = TRY(PerCpu<PathCounters>::create());
	s->migrated_from_ = TRY(PerCpu<MigratedFrom>::create());
	s->base_from_ = TRY(PerCpu<MigratedFrom>::create());
	return s;
}

void PathStats::finished(Direction direction, u64 ns, int submit_cpu)
{
	const int cpu = raw_smp_processor_id();
	const bool read = direction == Direction::Read;
	live_.inc(&PathCounters::finished);
	live_.inc(read ? &PathCounters::read_latency : &PathCounters::write_latency,
		  latency_row(ns));
	live_.inc(read ? &PathCounters::read_us : &PathCounters::write_us, microsecond_row(ns));
	// A maximum that two contexts of one CPU race for may lose one of theirs.
	u64 &max = live_.on(cpu).*
		   (read ? &PathCounters::read_latency_max : &PathCounters::write_latency_max);
	if (ns > READ_ONCE(max))
		WRITE_ONCE(max, ns);
	if (cpu != submit_cpu) [[unlikely]] {
		live_.inc(&PathCounters::migrated_to);
		__atomic_fetch_add(&migrated_from_.on(submit_cpu).count, u64{1}, __ATOMIC_RELAXED);
	}
}

// Handlers are called by a run of the CPU's softirq for completion queues or by who polls. What one
// run of the softirq handles makes up a batch.
void PathStats::completed(u32 count)
{
	const int cpu = raw_smp_processor_id();
	PathCounters &c = live_.on(cpu);
	const u64 run = in_serving_softirq() ? kstat_softirqs_cpu(IRQ_POLL_SOFTIRQ, cpu) + 1 : 0;
	live_.add(&PathCounters::completions, u64{count});
	if (run && run == c.completion_run) {
		c.completion_batch += count;
	} else {
		live_.inc(&PathCounters::completion_runs);
		c.completion_run = run;
		c.completion_batch = count;
	}
	if (c.completion_batch > c.completion_max)
		c.completion_max = c.completion_batch;
}

u64 PathStats::inflight() const
{
	// In this order a request is never seen finished but not started.
	const u64 finished = live_.sum(&PathCounters::finished);
	smp_rmb();
	return live_.sum(&PathCounters::started) - finished;
}

void PathStats::reset_rdma()
{
	static constexpr u64 PathCounters::*kMembers[] = {
	    &PathCounters::reads,	&PathCounters::read_bytes, &PathCounters::writes,
	    &PathCounters::write_bytes, &PathCounters::failovers,
	};
	live_.for_each([&](int cpu, const PathCounters &live) {
		for (u64 PathCounters::*member : kMembers)
			base_.on(cpu).*member = READ_ONCE(live.*member);
	});
}

void PathStats::reset_reconnects()
{
	base_reconnects_ = READ_ONCE(reconnects_);
	base_failures_ = READ_ONCE(reconnect_failures_);
}

void PathStats::reset_migration()
{
	live_.for_each([&](int cpu, const PathCounters &live) {
		base_.on(cpu).migrated_to = READ_ONCE(live.migrated_to);
		base_from_.on(cpu).count = READ_ONCE(migrated_from_.on(cpu).count);
	});
}

void PathStats::reset_latency()
{
	live_.for_each([&](int cpu, PathCounters &live) {
		PathCounters &base = base_.on(cpu);
		for (u32 i = 0; i < kLatencyRows; i++) {
			base.read_latency[i] = READ_ONCE(live.read_latency[i]);
			base.write_latency[i] = READ_ONCE(live.write_latency[i]);
		}
		WRITE_ONCE(live.read_latency_max, 0);
		WRITE_ONCE(live.write_latency_max, 0);
	});
}

void PathStats::reset_completions()
{
	live_.for_each([&](int cpu, PathCounters &live) {
		base_.on(cpu).completions = READ_ONCE(live.completions);
		base_.on(cpu).completion_runs = READ_ONCE(live.completion_runs);
		WRITE_ONCE(live.completion_max, 0);
	});
}

template <u32 N> void PathStats::reset_rows(u64 (PathCounters::*rows)[N])
{
	live_.for_each([&](int cpu, const PathCounters &live) {
		for (u32 i = 0; i < N; i++)
			WRITE_ONCE((base_.on(cpu).*rows)[i], READ_ONCE((live.*rows)[i]));
	});
}

void PathStats::reset_microseconds()
{
	reset_rows(&PathCounters::read_us);
	reset_rows(&PathCounters::write_us);
}

void PathStats::reset_errors()
{
	reset_rows(&PathCounters::errors);
}

void PathStats::reset_lists()
{
	reset_rows(&PathCounters::lists);
}

} // namespace rtrs::client
