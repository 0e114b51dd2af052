// SPDX-License-Identifier: GPL-2.0
// Metrics in the OpenMetrics text format, which older readers of Prometheus' text format take too.
#include "metrics.hh"

#include "command.hh"
#include "statistics.hh"
#include "text.hh"

#include <cmath>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

using Labels = std::vector<std::pair<const char *, std::string>>;

std::string escaped(std::string text)
{
	text = replace_all(text, "\\", "\\\\");
	text = replace_all(text, "\"", "\\\"");
	return replace_all(text, "\n", "\\n");
}

// All samples of one name stand together: the format demands it.
class Family {
public:
	Family(const char *name, const char *type, const char *unit, const char *help)
	    : name_(name), type_(type), unit_(unit), help_(help)
	{
	}

	void add(const Labels &labels, double value, const char *suffix = nullptr)
	{
		std::string list;
		for (const auto &[key, text] : labels)
			list +=
			    fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", key, escaped(text));
		if (!suffix)
			suffix = std::string(type_) == "counter" ? "_total" : "";
		samples_ += fmt::format("{}{}{{{}}} {}\n", name_, suffix, list, number(value));
	}

	std::string text() const
	{
		if (samples_.empty())
			return "";
		std::string head = fmt::format("# TYPE {} {}\n", name_, type_);
		if (*unit_)
			head += fmt::format("# UNIT {} {}\n", name_, unit_);
		return head + fmt::format("# HELP {} {}\n", name_, help_) + samples_;
	}

private:
	static std::string number(double value)
	{
		if (value == std::floor(value) && std::abs(value) < 9e15)
			return fmt::format("{:.0f}", value);
		return fmt::format("{}", value);
	}

	const char *name_, *type_, *unit_, *help_;
	std::string samples_;
};

std::string device_metrics(const Host &host)
{
	Family open("rnbd_device_open", "gauge", "", "Whether the mapped device can be used.");
	Family size("rnbd_device_size_bytes", "gauge", "bytes", "Size of the mapped device.");
	Family flight("rnbd_device_in_flight", "gauge", "", "Requests that wait for an answer.");
	Family reads("rnbd_device_reads", "counter", "", "Reads that have ended.");
	Family writes("rnbd_device_writes", "counter", "", "Writes that have ended.");
	Family read_bytes("rnbd_device_read_bytes", "counter", "bytes", "Bytes read.");
	Family written("rnbd_device_written_bytes", "counter", "bytes", "Bytes written.");
	Family errors("rnbd_device_errors", "counter", "", "Requests that ended with an error.");
	Family retries("rnbd_device_retries", "counter", "",
		       "Requests that lost their path and were sent again.");
	Family waiting("rnbd_device_waiting", "gauge", "", "Requests that wait for a path.");
	Family oldest("rnbd_device_oldest_request_seconds", "gauge", "seconds",
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
	return open.text() + size.text() + flight.text() + reads.text() + read_bytes.text() +
	       writes.text() + written.text() + errors.text() + retries.text() + waiting.text() +
	       oldest.text();
}

// A histogram's buckets hold all that is below their limit; its sum is not known to the kernel.
void add_histogram(Family &family, const Host &host, const Path &path, const Labels &labels)
{
	auto classes = read_latency(host, path);
	for (bool write : {false, true}) {
		double sum = 0;
		for (const LatencyClass &c : classes) {
			sum += static_cast<double>(write ? c.writes : c.reads);
			Labels bucket = labels;
			bucket.emplace_back("direction", write ? "write" : "read");
			bucket.emplace_back("le", std::isinf(c.limit_ms)
						      ? "+Inf"
						      : fmt::format("{}", c.limit_ms / 1000));
			family.add(bucket, sum, "_bucket");
		}
		if (classes.empty())
			continue;
		Labels count = labels;
		count.emplace_back("direction", write ? "write" : "read");
		family.add(count, sum, "_count");
	}
}

std::string path_metrics(const Host &host)
{
	Family session_paths("rnbd_session_paths", "gauge", "", "Paths of the session.");
	Family session_up("rnbd_session_paths_connected", "gauge", "",
			  "Paths of the session that are connected.");
	Family up("rnbd_path_connected", "gauge", "", "Whether the path is connected.");
	Family latency("rnbd_path_heartbeat_seconds", "gauge", "seconds",
		       "Time to the answer of the last heartbeat.");
	Family flight("rnbd_path_in_flight", "gauge", "", "Requests that wait for an answer.");
	Family reads("rnbd_path_reads", "counter", "", "Reads.");
	Family writes("rnbd_path_writes", "counter", "", "Writes.");
	Family read_bytes("rnbd_path_read_bytes", "counter", "bytes", "Bytes read.");
	Family written("rnbd_path_written_bytes", "counter", "bytes", "Bytes written.");
	Family over("rnbd_path_failed_over", "counter", "",
		    "Requests that came from another path which was lost.");
	Family again("rnbd_path_reconnects", "counter", "", "Times the path connected again.");
	Family failed("rnbd_path_reconnects_failed", "counter", "",
		      "Attempts to do so that failed.");
	Family errors("rnbd_path_errors", "counter", "", "What went wrong on the path, by kind.");
	Family times("rnbd_path_request_duration_seconds", "histogram", "seconds",
		     "How long requests took.");
	for (bool server : {false, true})
		for (const Session &session : read_sessions(host, server)) {
			const char *side = server ? "server" : "client";
			Labels of = {{"session", session.name}, {"side", side}};
			session_paths.add(of, static_cast<double>(session.paths.size()));
			session_up.add(of, static_cast<double>(session.connected()));
			for (const Path &p : session.paths) {
				Labels labels = of;
				labels.emplace_back("path", p.name);
				labels.emplace_back("hca", p.hca);
				labels.emplace_back("port", std::to_string(p.port));
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
					failed.add(labels,
						   static_cast<double>(*p.reconnects_failed));
				for (const auto &[kind, count] : p.errors) {
					Labels of_kind = labels;
					of_kind.emplace_back("kind", kind);
					errors.add(of_kind, static_cast<double>(count));
				}
				add_histogram(times, host, p, labels);
			}
		}
	return session_paths.text() + session_up.text() + up.text() + latency.text() +
	       flight.text() + reads.text() + read_bytes.text() + writes.text() + written.text() +
	       over.text() + again.text() + failed.text() + errors.text() + times.text();
}

} // namespace

std::string metrics_text(const Host &host)
{
	Family info("rnbdadm", "info", "", "Version of the program that wrote this.");
	info.add({{"version", version()}}, 1, "_info");
	Family opened("rnbd_server_opened", "gauge", "", "Whether a session has the device open.");
	for (const Opened &o : read_opened(host))
		opened.add({{"device", o.device}, {"session", o.session}, {"access", o.access}}, 1);
	return info.text() + device_metrics(host) + path_metrics(host) + opened.text() + "# EOF\n";
}

} // namespace rnbdadm
