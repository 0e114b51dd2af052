// SPDX-License-Identifier: GPL-2.0
// Distributions of latency, and rates between two moments.
#include "statistics.hh"

#include "text.hh"

#include <algorithm>
#include <limits>

namespace rnbdadm {

std::vector<LatencyClass> read_latency(const Host &host, const std::string &folder)
{
	std::vector<LatencyClass> classes;
	// The finer one where the module has it.
	bool fine = host.exists(folder + "/stats/latency_us");
	double ms = fine ? 1e-3 : 1;
	std::string text = host.text(folder + (fine ? "/stats/latency_us" : "/stats/rdma_lat"));
	for (const std::string &line : split(text, "\n")) {
		std::vector<std::string> halves = split(line, ":");
		std::vector<std::string> name = split(halves.empty() ? "" : halves[0]);
		std::vector<std::string> counts = split(halves.size() > 1 ? halves[1] : "");
		// "maximum ms:" is no class.
		if (name.empty() || name[0] == "maximum" || counts.size() < 2)
			continue;
		LatencyClass c = {};
		if (name[0] == ">=")
			c.limit_ms = std::numeric_limits<double>::infinity();
		else
			c.limit_ms = static_cast<double>(parse_number(name[0]).value_or(0)) * ms;
		c.reads = parse_number(counts[0]).value_or(0);
		c.writes = parse_number(counts[1]).value_or(0);
		classes.push_back(c);
	}
	return classes;
}

std::optional<double> percentile(const std::vector<LatencyClass> &classes, double share)
{
	double all = 0;
	for (const LatencyClass &c : classes)
		all += static_cast<double>(c.reads + c.writes);
	if (all == 0)
		return std::nullopt;
	double sum = 0;
	for (const LatencyClass &c : classes) {
		sum += static_cast<double>(c.reads + c.writes);
		if (sum >= all * share)
			return c.limit_ms;
	}
	return classes.back().limit_ms;
}

Moment read_moment(const Host &host)
{
	Moment moment;
	moment.time = host.now();
	moment.devices = read_devices(host);
	for (const Device &device : moment.devices)
		moment.device_latencies.push_back(read_latency(host, device.folder));
	moment.paths = all_paths(host);
	for (const Path &path : moment.paths)
		moment.latencies.push_back(read_latency(host, path.folder));
	return moment;
}

namespace {

// Counts begin anew after a reset or a reconnect: what is left since then.
double difference(std::uint64_t before, std::uint64_t now)
{
	return static_cast<double>(now >= before ? now - before : now);
}

Json limit(const std::optional<double> &ms)
{
	// JSON has no infinity: beyond the last class.
	return ms && *ms < 1e18 ? Json(*ms) : Json();
}

std::vector<LatencyClass> between(std::vector<LatencyClass> before, std::vector<LatencyClass> now)
{
	for (std::size_t i = 0; i < now.size() && i < before.size(); i++) {
		now[i].reads =
		    static_cast<std::uint64_t>(difference(before[i].reads, now[i].reads));
		now[i].writes =
		    static_cast<std::uint64_t>(difference(before[i].writes, now[i].writes));
	}
	return now;
}

void put_rates(Json &row, double seconds, double reads, double read_bytes, double writes,
	       double written_bytes)
{
	row["read_rate"] = reads / seconds;
	row["read_bytes_rate"] = read_bytes / seconds;
	row["write_rate"] = writes / seconds;
	row["written_bytes_rate"] = written_bytes / seconds;
}

void put_percentiles(Json &row, const std::vector<LatencyClass> &before,
		     const std::vector<LatencyClass> &now)
{
	auto classes = between(before, now);
	row["p50_ms"] = limit(percentile(classes, 0.5));
	row["p99_ms"] = limit(percentile(classes, 0.99));
}

} // namespace

std::vector<Json> device_rates(const Moment &before, const Moment &now)
{
	std::vector<Json> rows;
	double seconds = std::max(now.time - before.time, 1e-3);
	for (std::size_t i = 0; i < now.devices.size(); i++)
		for (std::size_t j = 0; j < before.devices.size(); j++) {
			const Device &b = now.devices[i], &a = before.devices[j];
			if (a.name != b.name || a.device_path != b.device_path)
				continue;
			Json row;
			row["name"] = b.name;
			put_rates(row, seconds, difference(a.reads, b.reads),
				  difference(a.read_bytes, b.read_bytes),
				  difference(a.writes, b.writes),
				  difference(a.written_bytes, b.written_bytes));
			row["in_flight"] = b.in_flight;
			put_percentiles(row, before.device_latencies[j], now.device_latencies[i]);
			row["oldest_request_ms"] =
			    b.oldest_request_ms ? Json(*b.oldest_request_ms) : Json();
			row["state"] = b.state;
			rows.push_back(row);
		}
	return rows;
}

std::vector<Json> path_rates(const Moment &before, const Moment &now)
{
	std::vector<Json> rows;
	double seconds = std::max(now.time - before.time, 1e-3);
	for (std::size_t i = 0; i < now.paths.size(); i++)
		for (std::size_t j = 0; j < before.paths.size(); j++) {
			const Path &b = now.paths[i], &a = before.paths[j];
			if (a.folder != b.folder)
				continue;
			Json row;
			row["session"] = b.session;
			row["name"] = b.name;
			put_rates(row, seconds, difference(a.counts.reads, b.counts.reads),
				  difference(a.counts.read_bytes, b.counts.read_bytes),
				  difference(a.counts.writes, b.counts.writes),
				  difference(a.counts.written_bytes, b.counts.written_bytes));
			row["in_flight"] = b.counts.in_flight ? Json(*b.counts.in_flight) : Json();
			put_percentiles(row, before.latencies[j], now.latencies[i]);
			row["state"] = b.state;
			rows.push_back(row);
		}
	return rows;
}

std::vector<Json> opened_rates(const std::vector<Opened> &before, const std::vector<Opened> &now,
			       double seconds)
{
	using Count = Number Opened::*;
	static constexpr Count kOther[] = {&Opened::flushes, &Opened::discards,
					   &Opened::secure_erases, &Opened::write_zeroes};
	static constexpr Count kAll[] = {
	    &Opened::reads,	    &Opened::read_bytes,   &Opened::writes,
	    &Opened::written_bytes, &Opened::flushes,	   &Opened::discards,
	    &Opened::secure_erases, &Opened::write_zeroes, &Opened::errors};
	seconds = std::max(seconds, 1e-3);
	std::vector<Json> rows;
	for (const Opened &b : now)
		for (const Opened &a : before) {
			if (a.folder != b.folder || !a.reads || !b.reads)
				continue;
			// The session has opened it anew meanwhile: all of it has begun again.
			const bool anew =
			    std::any_of(std::begin(kAll), std::end(kAll), [&](Count count) {
				    return (b.*count).value_or(0) < (a.*count).value_or(0);
			    });
			auto grown = [&](Count count) {
				return difference(anew ? 0 : (a.*count).value_or(0),
						  (b.*count).value_or(0));
			};
			Json row;
			row["device"] = b.device;
			row["session"] = b.session;
			put_rates(row, seconds, grown(&Opened::reads), grown(&Opened::read_bytes),
				  grown(&Opened::writes), grown(&Opened::written_bytes));
			double other = 0;
			for (Count count : kOther)
				other += grown(count);
			row["other_rate"] = other / seconds;
			row["new_errors"] = grown(&Opened::errors);
			rows.push_back(row);
		}
	return rows;
}

} // namespace rnbdadm
