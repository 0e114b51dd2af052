// SPDX-License-Identifier: GPL-2.0
// Statistics of one path (protocol F.2), counted per CPU.
#pragma once

#include <cxxrt/percpu.hh>

namespace rtrs::server {

using cxxrt::u64;

// What stats/rdma and stats/wc_completion show. A reset clears these, and only these.
struct PathStats {
	u64 reads;
	u64 read_bytes; // room for the answer and user message, at arrival
	u64 writes;
	u64 write_bytes;     // data and user message
	u64 completions;     // work completions
	u64 completion_runs; // how often completions were handled: several at a time
	u64 completion_max;  // at one time, if ever several
};

// So many work completions are handled together. Work-queue context. Two workers on one CPU, of two
// connections, may lose a maximum: it is a statistic.
inline void count_completions(cxxrt::PerCpu<PathStats> &stats, u64 count)
{
	stats.add(&PathStats::completions, count);
	stats.inc(&PathStats::completion_runs);
	if (count == 1)
		return;
	PathStats &mine = stats.on(raw_smp_processor_id());
	if (count > mine.completion_max)
		mine.completion_max = count;
}

} // namespace rtrs::server
