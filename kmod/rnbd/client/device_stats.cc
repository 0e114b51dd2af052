// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/device_stats.hh>

#include <cxxrt/text.hh>

namespace rnbd::client {

using namespace cxxrt;
using Counters = DeviceStats::Counters;

namespace {

struct Row {
	const char *name;
	u64 Counters::*member;
};

constexpr Row kRequests[] = {
    {"errors", &Counters::errors},
    {"requeues", &Counters::requeues},
    {"retries", &Counters::retries},
    {"waits", &Counters::waits},
};

// As for the statistics of a path: "0" or "1".
Status check_reset(TextView text)
{
	text = trim_newline(text);
	return text == TextView("0") || text == TextView("1") ? Status() : Status(err::einval);
}

} // namespace

constinit const SysfsFile<DeviceStats> DeviceStats::kFiles[] = {
    SysfsFile<DeviceStats>::read_write("requests", &DeviceStats::show_requests,
				       &DeviceStats::store_requests),
    SysfsFile<DeviceStats>::read_write("latency_us", &DeviceStats::show_latency,
				       &DeviceStats::store_latency),
    SysfsFile<DeviceStats>::read_write("reset_all", &DeviceStats::show_reset_all,
				       &DeviceStats::store_reset_all),
};

Result<Box<DeviceStats>> DeviceStats::create()
{
	Box<DeviceStats> stats = TRY(make_box<DeviceStats>(GFP_KERNEL));
	stats->live_ = TRY(PerCpu<Counters>::create());
	stats->base_ = TRY(PerCpu<Counters>::create());
	return stats;
}

Status DeviceStats::create_files(kobject *parent)
{
	dir_ = TRY(SysfsDir::create(parent, "stats", this, kFiles));
	return {};
}

void DeviceStats::finished(const request *rq, u64 took)
{
	const u32 row = microsecond_row(took);
	switch (req_op(rq)) {
	case REQ_OP_READ:
		live_.inc(&Counters::read_us, row);
		break;
	case REQ_OP_WRITE:
		live_.inc(&Counters::write_us, row);
		break;
	default:
		live_.inc(&Counters::other_us, row);
		break;
	}
}

u64 DeviceStats::since_reset(Rows rows, u32 row) const
{
	u64 total = 0;
	live_.for_each([&](int cpu, const Counters &live) {
		total += READ_ONCE((live.*rows)[row]) - READ_ONCE((base_.on(cpu).*rows)[row]);
	});
	return total;
}

void DeviceStats::show_requests(SysfsText &out)
{
	for (const Row &row : kRequests)
		out.print("%s %llu\n", row.name, live_.sum(row.member) - base_.sum(row.member));
}

Status DeviceStats::store_requests(TextView text, SysfsCall &)
{
	TRY(check_reset(text));
	LockGuard<Mutex> held(reset_lock_);
	live_.for_each([&](int cpu, const Counters &live) {
		for (const Row &row : kRequests)
			WRITE_ONCE(base_.on(cpu).*row.member, READ_ONCE(live.*row.member));
	});
	return {};
}

void DeviceStats::show_latency(SysfsText &out)
{
	for (u32 row = 0; row < kMicrosecondRows; row++) {
		const bool last = row == kMicrosecondRows - 1;
		out.print("%s%u us: %llu %llu %llu\n", last ? ">= " : "",
			  1u << (last ? row - 1 : row), since_reset(&Counters::read_us, row),
			  since_reset(&Counters::write_us, row),
			  since_reset(&Counters::other_us, row));
	}
}

Status DeviceStats::store_latency(TextView text, SysfsCall &)
{
	TRY(check_reset(text));
	LockGuard<Mutex> held(reset_lock_);
	static constexpr Rows kLatencies[] = {&Counters::read_us, &Counters::write_us,
					      &Counters::other_us};
	live_.for_each([&](int cpu, const Counters &live) {
		for (const Rows rows : kLatencies)
			for (u32 i = 0; i < kMicrosecondRows; i++)
				WRITE_ONCE((base_.on(cpu).*rows)[i], READ_ONCE((live.*rows)[i]));
	});
	return {};
}

void DeviceStats::show_reset_all(SysfsText &out)
{
	out.print("echo 1 to reset all statistics\n");
}

Status DeviceStats::store_reset_all(TextView text, SysfsCall &call)
{
	TRY(store_requests(text, call));
	return store_latency(text, call);
}

} // namespace rnbd::client
