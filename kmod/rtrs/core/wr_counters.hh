// SPDX-License-Identifier: GPL-2.0
// What a path costs its RDMA device, counted per CPU and shown in debugfs: the figures that the
// work-request economy is tested by.
#pragma once

#include <cxxrt/percpu.hh>

namespace rtrs {

struct WrCounters {
	cxxrt::u64 requests;	  // I/O requests posted (client) or answered (server)
	cxxrt::u64 work_requests; // on send queues, all kinds
	cxxrt::u64 doorbells;	  // calls that handed a chain to the device
	cxxrt::u64 registrations; // REG_MR among the work requests
	cxxrt::u64 invalidations; // LOCAL_INV and SEND_WITH_INV among the work requests
	cxxrt::u64 guards;	  // LOCAL_INVs that soft-RoCE needs for REG_MR, beside all of these
	cxxrt::u64 signaled;	  // work requests that asked for a completion
	cxxrt::u64 send_completions; // completions of send queues
	cxxrt::u64 recv_completions;
	cxxrt::u64 wakes;  // of the work requests: those that woke a queue which stood still
	cxxrt::u64 helped; // of these: those after which awaited completions came
};

struct WrCounterRow {
	const char *name;
	cxxrt::u64 WrCounters::*member;
};

constexpr WrCounterRow kWrCounterRows[] = {
    {"requests", &WrCounters::requests},
    {"work_requests", &WrCounters::work_requests},
    {"doorbells", &WrCounters::doorbells},
    {"registrations", &WrCounters::registrations},
    {"invalidations", &WrCounters::invalidations},
    {"guards", &WrCounters::guards},
    {"signaled", &WrCounters::signaled},
    {"send_completions", &WrCounters::send_completions},
    {"recv_completions", &WrCounters::recv_completions},
    {"wakes", &WrCounters::wakes},
    {"helped", &WrCounters::helped},
};

} // namespace rtrs
