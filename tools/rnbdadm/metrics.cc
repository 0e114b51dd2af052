// SPDX-License-Identifier: GPL-2.0
// Metrics in the Prometheus text format. The textfile collector of the node exporter reads no
// other: types that only OpenMetrics has make it refuse the whole file.
#include "metrics.hh"

#include "command.hh"
#include "statistics.hh"
#include "text.hh"

#include <limits>
#include <sstream>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace rnbdadm {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using Families = std::vector<MetricFamily>;

// All samples of one name stand together: the format demands it.
class Family {
public:
	Family(const char *name, MetricType type, const char *help)
	{
		family_.name = name;
		family_.help = help;
		family_.type = type;
	}

	void add(const Labels &labels, double value)
	{
		ClientMetric metric;
		metric.label = labels;
		(family_.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
		    value;
		family_.metric.push_back(metric);
	}

	void add(const Labels &labels, const ClientMetric::Histogram &histogram)
	{
		ClientMetric metric;
		metric.label = labels;
		metric.histogram = histogram;
		family_.metric.push_back(metric);
	}

	// A family without samples is left out.
	void move_to(Families &all)
	{
		if (!family_.metric.empty())
			all.push_back(std::move(family_));
	}

private:
	MetricFamily family_;
};

void device_metrics(const Host &host, Families &all)
{
	Family open("rnbd_device_open", MetricType::Gauge,
		    "Whether the mapped device can be used.");
	Family size("rnbd_device_size_bytes", MetricType::Gauge, "Size of the mapped device.");
	Family flight("rnbd_device_in_flight", MetricType::Gauge,
		      "Requests that wait for an answer.");
	Family reads("rnbd_device_reads_total", MetricType::Counter, "Reads that have ended.");
	Family writes("rnbd_device_writes_total", MetricType::Counter, "Writes that have ended.");
	Family read_bytes("rnbd_device_read_bytes_total", MetricType::Counter, "Bytes read.");
	Family written("rnbd_device_written_bytes_total", MetricType::Counter, "Bytes written.");
	Family errors("rnbd_device_errors_total", MetricType::Counter,
		      "Requests that ended with an error.");
	Family retries("rnbd_device_retries_total", MetricType::Counter,
		       "Requests that lost their path and were sent again.");
	Family waiting("rnbd_device_waiting", MetricType::Gauge, "Requests that wait for a path.");
	Family oldest("rnbd_device_oldest_request_seconds", MetricType::Gauge,
		      "Age of the oldest request.");
	for (const Device &d : read_devices(host)) {
		Labels labels = {
		    {"device", d.name}, {"session", d.session}, {"device_path", d.device_path}};
		open.add(labels, d.state == "open");
		size.add(labels, static_cast<double>(d.size));
		flight.add(labels, static_cast<double>(d.in_flight));
		reads.add(labels, static_cast<double>(d.reads));
		writes.add(labels, static_cast<double>(d.writes));
		read_bytes.add(labels, static_cast<double>(d.read_bytes));
		written.add(labels, static_cast<double>(d.written_bytes));
		if (d.errors)
			errors.add(labels, static_cast<double>(*d.errors));
		if (d.retries)
			retries.add(labels, static_cast<double>(*d.retries));
		if (d.waiting)
			waiting.add(labels, static_cast<double>(*d.waiting));
		if (d.oldest_request_ms)
			oldest.add(labels, static_cast<double>(*d.oldest_request_ms) / 1000);
	}
	for (Family *family : {&open, &size, &flight, &reads, &read_bytes, &writes, &written,
			       &errors, &retries, &waiting, &oldest})
		family->move_to(all);
}

// A bucket holds all that is below its limit. The kernel does not count the sum of the times, and 0
// would be taken for one.
void add_histogram(Family &family, const Host &host, const Path &path, const Labels &labels)
{
	auto classes = read_latency(host, path.folder);
	if (classes.empty())
		return;
	for (bool write : {false, true}) {
		ClientMetric::Histogram histogram;
		histogram.sample_sum = std::numeric_limits<double>::quiet_NaN();
		for (const LatencyClass &c : classes) {
			histogram.sample_count += write ? c.writes : c.reads;
			histogram.bucket.push_back({histogram.sample_count, c.limit_ms / 1000});
		}
		Labels of = labels;
		of.push_back({"direction", write ? "write" : "read"});
		family.add(of, histogram);
	}
}

void path_metrics(const Host &host, Families &all)
{
	Family session_paths("rnbd_session_paths", MetricType::Gauge, "Paths of the session.");
	Family session_up("rnbd_session_paths_connected", MetricType::Gauge,
			  "Paths of the session that are connected.");
	Family up("rnbd_path_connected", MetricType::Gauge, "Whether the path is connected.");
	Family latency("rnbd_path_heartbeat_seconds", MetricType::Gauge,
		       "Time to the answer of the last heartbeat.");
	Family flight("rnbd_path_in_flight", MetricType::Gauge,
		      "Requests that wait for an answer.");
	Family reads("rnbd_path_reads_total", MetricType::Counter, "Reads.");
	Family writes("rnbd_path_writes_total", MetricType::Counter, "Writes.");
	Family read_bytes("rnbd_path_read_bytes_total", MetricType::Counter, "Bytes read.");
	Family written("rnbd_path_written_bytes_total", MetricType::Counter, "Bytes written.");
	Family over("rnbd_path_failed_over_total", MetricType::Counter,
		    "Requests that came from another path which was lost.");
	Family again("rnbd_path_reconnects_total", MetricType::Counter,
		     "Times the path connected again.");
	Family failed("rnbd_path_reconnects_failed_total", MetricType::Counter,
		      "Attempts to do so that failed.");
	Family errors("rnbd_path_errors_total", MetricType::Counter,
		      "What went wrong on the path, by kind.");
	Family times("rnbd_path_request_duration_seconds", MetricType::Histogram,
		     "How long requests took, as their class of time; the sum is not known.");
	for (const Session &session : all_sessions(host)) {
		const char *side = session.server ? "server" : "client";
		Labels of = {{"session", session.name}, {"side", side}};
		session_paths.add(of, static_cast<double>(session.paths.size()));
		session_up.add(of, static_cast<double>(session.connected()));
		for (const Path &p : session.paths) {
			Labels labels = of;
			labels.push_back({"path", p.name});
			labels.push_back({"hca", p.hca});
			labels.push_back({"port", std::to_string(p.port)});
			const PathCounts &c = p.counts;
			up.add(labels, p.connected());
			if (p.latency)
				latency.add(labels, static_cast<double>(*p.latency) / 1e9);
			if (c.in_flight)
				flight.add(labels, static_cast<double>(*c.in_flight));
			reads.add(labels, static_cast<double>(c.reads));
			writes.add(labels, static_cast<double>(c.writes));
			read_bytes.add(labels, static_cast<double>(c.read_bytes));
			written.add(labels, static_cast<double>(c.written_bytes));
			if (c.failed_over)
				over.add(labels, static_cast<double>(*c.failed_over));
			if (p.reconnects && *p.reconnects >= 0)
				again.add(labels, static_cast<double>(*p.reconnects));
			if (p.reconnects_failed && *p.reconnects_failed >= 0)
				failed.add(labels, static_cast<double>(*p.reconnects_failed));
			for (const auto &[kind, count] : p.errors) {
				Labels of_kind = labels;
				of_kind.push_back({"kind", kind});
				errors.add(of_kind, static_cast<double>(count));
			}
			add_histogram(times, host, p, labels);
		}
	}
	for (Family *family :
	     {&session_paths, &session_up, &up, &latency, &flight, &reads, &read_bytes, &writes,
	      &written, &over, &again, &failed, &errors, &times})
		family->move_to(all);
}

} // namespace

std::string metrics_text(const Host &host)
{
	Families all;
	Family info("rnbdadm_info", MetricType::Gauge, "Version of the program that wrote this.");
	info.add({{"version", version()}}, 1);
	info.move_to(all);
	// Without it nothing below would tell a machine without disks from one without modules.
	Family loaded("rnbd_module_loaded", MetricType::Gauge, "Whether the module is loaded.");
	loaded.add({{"module", "rnbd_client"}}, client_loaded(host));
	loaded.add({{"module", "rnbd_server"}}, server_loaded(host));
	loaded.move_to(all);
	device_metrics(host, all);
	path_metrics(host, all);
	Family opened("rnbd_server_opened", MetricType::Gauge,
		      "Whether a session has the device open.");
	Family reads("rnbd_server_reads_total", MetricType::Counter,
		     "Reads that the session asked of the device.");
	Family writes("rnbd_server_writes_total", MetricType::Counter,
		      "Writes that the session asked of the device.");
	Family read_bytes("rnbd_server_read_bytes_total", MetricType::Counter, "Bytes read.");
	Family written("rnbd_server_written_bytes_total", MetricType::Counter, "Bytes written.");
	Family other("rnbd_server_other_requests_total", MetricType::Counter,
		     "Flushes, discards, secure erases and zeroing.");
	Family errors("rnbd_server_errors_total", MetricType::Counter,
		      "Requests of the session that the device failed.");
	for (const Opened &o : read_opened(host)) {
		opened.add({{"device", o.device}, {"session", o.session}, {"access", o.access}}, 1);
		if (!o.reads)
			continue;
		const Labels labels = {{"device", o.device}, {"session", o.session}};
		auto add = [&](Family &family, std::initializer_list<Number> counts) {
			double sum = 0;
			for (const Number &count : counts)
				sum += static_cast<double>(count.value_or(0));
			family.add(labels, sum);
		};
		add(reads, {o.reads});
		add(writes, {o.writes});
		add(read_bytes, {o.read_bytes});
		add(written, {o.written_bytes});
		add(other, {o.flushes, o.discards, o.secure_erases, o.write_zeroes});
		add(errors, {o.errors});
	}
	for (Family *family : {&opened, &reads, &writes, &read_bytes, &written, &other, &errors})
		family->move_to(all);
	std::ostringstream text;
	prometheus::TextSerializer().Serialize(text, all);
	return text.str();
}

} // namespace rnbdadm
