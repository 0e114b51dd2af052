// SPDX-License-Identifier: GPL-2.0
// Distributions of latency, and rates between two moments.
#pragma once

#include "fields.hh"

namespace rnbdadm {

// How many requests took less than `limit_ms`, and not less than the class before.
struct LatencyClass {
	double limit_ms; // infinite for the last
	std::uint64_t reads, writes;
};

// Of stats/latency_us or stats/rdma_lat in the folder of a client's path or device; empty if the
// module has neither.
std::vector<LatencyClass> read_latency(const Host &host, const std::string &folder);
// The class's limit below which `share` (0 to 1) of all requests stayed; nothing without requests.
std::optional<double> percentile(const std::vector<LatencyClass> &classes, double share);

// Counts at one moment.
struct Moment {
	double time = 0; // s
	std::vector<Device> devices;
	std::vector<Path> paths;
	std::vector<std::vector<LatencyClass>> device_latencies, latencies; // of each path
};

Moment read_moment(const Host &host);
// Rows of kDeviceRateKind and kPathRateKind; what was not there before is left out.
std::vector<Json> device_rates(const Moment &before, const Moment &now);
std::vector<Json> path_rates(const Moment &before, const Moment &now);
// Rows of kOpenedRateKind; what was not there before, or is not counted, is left out.
std::vector<Json> opened_rates(const std::vector<Opened> &before, const std::vector<Opened> &now,
			       double seconds);

} // namespace rnbdadm
