// SPDX-License-Identifier: GPL-2.0
// Statistics of one device: counted per CPU, so that they cost no shared cache line, and shown in
// /sys/block/rnbd<N>/rnbd/stats. How much was read and written, the block layer counts itself.
//
// A reset stores what the counters are at that time and later shows the difference: nothing that
// counts is written by another CPU.
#pragma once

#include <cxxrt/histogram.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/percpu.hh>
#include <cxxrt/sysfs.hh>
#include <rnbd/wire/units.hh>

namespace rnbd::client {

class DeviceStats {
public:
	struct Counters {
		u64 errors;   // requests that ended with an error
		u64 requeues; // given back to the block layer, since no path had room for it
		u64 retries;  // given back since its path ended, and will be sent again
		u64 waits;    // put aside until a path is there
		u64 read_us[cxxrt::kMicrosecondRows];
		u64 write_us[cxxrt::kMicrosecondRows];
		u64 other_us[cxxrt::kMicrosecondRows]; // flush, discard and the like
	};

	// ENOMEM. May sleep.
	static Result<cxxrt::Box<DeviceStats>> create();
	// The directory "stats" below `parent`. What the kernel refuses. May sleep.
	Status create_files(kobject *parent);
	void remove_files() { dir_.reset(); }

	// Any context.
	void count(u64 Counters::*what) { live_.inc(what); }
	// The server has answered, or nobody will: how long the request took from its first
	// arrival, in ns.
	void finished(const request *rq, u64 took);

private:
	void show_requests(cxxrt::SysfsText &out);
	Status store_requests(TextView text, cxxrt::SysfsCall &);
	void show_latency(cxxrt::SysfsText &out);
	Status store_latency(TextView text, cxxrt::SysfsCall &);
	void show_reset_all(cxxrt::SysfsText &out);
	Status store_reset_all(TextView text, cxxrt::SysfsCall &call);

	using Rows = u64 (Counters::*)[cxxrt::kMicrosecondRows];
	u64 since_reset(Rows rows, u32 row) const;

	static const cxxrt::SysfsFile<DeviceStats> kFiles[];

	cxxrt::PerCpu<Counters> live_;
	cxxrt::Mutex reset_lock_{cxxrt::lock_class<"rnbd_client stats">()};
	// Values at the last reset; under reset_lock_ for those who write.
	cxxrt::PerCpu<Counters> base_;
	cxxrt::SysfsDir dir_;
};

} // namespace rnbd::client
