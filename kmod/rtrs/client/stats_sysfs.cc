// SPDX-License-Identifier: GPL-2.0
// The files of a path's stats/ directory. Each is cleared by "0" (documented) or "1" (in-tree).
#include <rtrs/client/stats.hh>
#include <rtrs/pure/sysfs_text.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

template <class F> Status reset_on_request(TextView text, Mutex &lock, F &&reset)
{
	TRY(parse_reset(text));
	LockGuard<Mutex> held(lock);
	reset();
	return {};
}

} // namespace

constinit const SysfsFile<PathStats> PathStats::kFiles[] = {
    SysfsFile<PathStats>::read_write("rdma", &PathStats::show_rdma, &PathStats::store_rdma),
    SysfsFile<PathStats>::read_write("reconnects", &PathStats::show_reconnects,
				     &PathStats::store_reconnects),
    SysfsFile<PathStats>::read_write("cpu_migration", &PathStats::show_migration,
				     &PathStats::store_migration),
    SysfsFile<PathStats>::read_write("cpu_migration_from", &PathStats::show_migration_from,
				     &PathStats::store_migration),
    SysfsFile<PathStats>::read_write("cpu_migration_to", &PathStats::show_migration_to,
				     &PathStats::store_migration),
    SysfsFile<PathStats>::read_write("rdma_lat", &PathStats::show_latency,
				     &PathStats::store_latency),
    SysfsFile<PathStats>::read_write("latency_us", &PathStats::show_microseconds,
				     &PathStats::store_microseconds),
    SysfsFile<PathStats>::read_write("errors", &PathStats::show_errors, &PathStats::store_errors),
    SysfsFile<PathStats>::read_write("sg_entries", &PathStats::show_lists, &PathStats::store_lists),
    SysfsFile<PathStats>::read_write("wc_completion", &PathStats::show_completions,
				     &PathStats::store_completions),
    SysfsFile<PathStats>::read_write("reset_all", &PathStats::show_reset_all,
				     &PathStats::store_reset_all),
};

Status PathStats::create_files(kobject *parent)
{
	dir_ = TRY(SysfsDir::create(parent, "stats", this, kFiles));
	return {};
}

void PathStats::show_rdma(SysfsText &out)
{
	out.print("%llu %llu %llu %llu %llu %llu\n", since_reset(&PathCounters::reads),
		  since_reset(&PathCounters::read_bytes), since_reset(&PathCounters::writes),
		  since_reset(&PathCounters::write_bytes), inflight(),
		  since_reset(&PathCounters::failovers));
}

void PathStats::show_reconnects(SysfsText &out)
{
	out.print("%llu %llu\n", READ_ONCE(reconnects_) - READ_ONCE(base_reconnects_),
		  READ_ONCE(reconnect_failures_) - READ_ONCE(base_failures_));
}

void PathStats::show_migration_from(SysfsText &out)
{
	migrated_from_.for_each([&](int cpu, const MigratedFrom &from) {
		out.print("%llu ", READ_ONCE(from.count) - READ_ONCE(base_from_.on(cpu).count));
	});
	out.print("\n");
}

void PathStats::show_migration_to(SysfsText &out)
{
	live_.for_each([&](int cpu, const PathCounters &live) {
		out.print("%llu ",
			  READ_ONCE(live.migrated_to) - READ_ONCE(base_.on(cpu).migrated_to));
	});
	out.print("\n");
}

void PathStats::show_migration(SysfsText &out)
{
	out.print("from: ");
	show_migration_from(out);
	out.print("to: ");
	show_migration_to(out);
}

void PathStats::show_latency(SysfsText &out)
{
	u64 max[2] = {};
	for (u32 row = 0; row < kLatencyRows; row++) {
		u64 reads = 0;
		u64 writes = 0;
		live_.for_each([&](int cpu, const PathCounters &live) {
			const PathCounters &base = base_.on(cpu);
			reads += READ_ONCE(live.read_latency[row]) - base.read_latency[row];
			writes += READ_ONCE(live.write_latency[row]) - base.write_latency[row];
			max[0] = max_of(max[0], READ_ONCE(live.read_latency_max));
			max[1] = max_of(max[1], READ_ONCE(live.write_latency_max));
		});
		if (row < kLatencyRows - 1)
			out.print("%u ms: %llu %llu\n", 1u << row, reads, writes);
		else
			out.print(">= %u ms: %llu %llu\n", 1u << (row - 1), reads, writes);
	}
	out.print("maximum ms: %llu %llu\n", max[0] / NSEC_PER_MSEC, max[1] / NSEC_PER_MSEC);
}

void PathStats::show_microseconds(SysfsText &out)
{
	for (u32 row = 0; row < kMicrosecondRows; row++) {
		const bool last = row == kMicrosecondRows - 1;
		out.print("%s%u us: %llu %llu\n", last ? ">= " : "", 1u << (last ? row - 1 : row),
			  since_reset(&PathCounters::read_us, row),
			  since_reset(&PathCounters::write_us, row));
	}
}

void PathStats::show_errors(SysfsText &out)
{
	for (u32 kind = 0; kind < kPathErrors; kind++)
		out.print("%s %llu\n", to_text(static_cast<PathError>(kind)),
			  since_reset(&PathCounters::errors, kind));
}

void PathStats::show_lists(SysfsText &out)
{
	out.print("entries:");
	for (u32 row = 0; row < kListRows; row++)
		out.print(" %u", 1u << row);
	out.print("\n");
	live_.for_each([&](int cpu, const PathCounters &live) {
		u64 counts[kListRows];
		u64 total = 0;
		for (u32 row = 0; row < kListRows; row++) {
			counts[row] = READ_ONCE(live.lists[row]) - base_.on(cpu).lists[row];
			total += counts[row];
		}
		// One page must hold all CPUs that have something to tell.
		if (!total)
			return;
		out.print("cpu%d:", cpu);
		for (const u64 count : counts)
			out.print(" %llu", count);
		out.print("\n");
	});
}

void PathStats::show_completions(SysfsText &out)
{
	u64 max = 0;
	live_.for_each([&](int, const PathCounters &live) {
		max = max_of(max, READ_ONCE(live.completion_max));
	});
	const u64 runs = since_reset(&PathCounters::completion_runs);
	out.print("%llu %llu\n", max,
		  runs ? since_reset(&PathCounters::completions) / runs : u64{0});
}

void PathStats::show_reset_all(SysfsText &out)
{
	out.print("echo 1 to reset all statistics\n");
}

Status PathStats::store_rdma(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_rdma(); });
}

Status PathStats::store_reconnects(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_reconnects(); });
}

Status PathStats::store_migration(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_migration(); });
}

Status PathStats::store_latency(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_latency(); });
}

Status PathStats::store_microseconds(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_microseconds(); });
}

Status PathStats::store_errors(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_errors(); });
}

Status PathStats::store_lists(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_lists(); });
}

Status PathStats::store_completions(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] { reset_completions(); });
}

Status PathStats::store_reset_all(TextView text, SysfsCall &)
{
	return reset_on_request(text, reset_lock_, [this] {
		reset_rdma();
		reset_reconnects();
		reset_migration();
		reset_latency();
		reset_microseconds();
		reset_errors();
		reset_lists();
		reset_completions();
	});
}

} // namespace rtrs::client
