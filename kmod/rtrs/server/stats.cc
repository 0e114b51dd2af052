// SPDX-License-Identifier: GPL-2.0
// Counting completions by runs of the workers that handle them.
#include <rtrs/server/stats.hh>

namespace rtrs::server {

// The workers of completion queues are bound to their CPUs. One that is preempted by another may
// lose a count of the batch, which is a statistic.
void count_completion(cxxrt::PerCpu<PathStats> &stats)
{
	PathStats &mine = stats.on(raw_smp_processor_id());
	// A worker goes to sleep between two runs, and sleeping is what this counts.
	const u64 run = static_cast<u64>(current->pid) << 32 | static_cast<u32>(current->nvcsw);
	stats.inc(&PathStats::completions);
	if (mine.completion_run == run) {
		mine.completion_batch++;
	} else {
		stats.inc(&PathStats::completion_runs);
		mine.completion_run = run;
		mine.completion_batch = 1;
	}
	if (mine.completion_batch > mine.completion_max)
		mine.completion_max = mine.completion_batch;
}

} // namespace rtrs::server
