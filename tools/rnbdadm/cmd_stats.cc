// SPDX-License-Identifier: GPL-2.0
// stats, metrics.
#include "mapping.hh"
#include "metrics.hh"
#include "names.hh"
#include "statistics.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// Which devices and paths are meant: all, or those of one object.
struct Chosen {
	bool all = true;
	std::vector<std::string> devices, paths; // names and folders

	bool has(const Json &row) const
	{
		auto in = [](const std::vector<std::string> &v, const std::string &s) {
			return std::find(v.begin(), v.end(), s) != v.end();
		};
		if (all)
			return true;
		// Devices have a session as well, but no path is named like a disk.
		if (in(devices, row["name"]))
			return true;
		if (row.contains("session"))
			return in(paths, row["session"].get<std::string>() + " " +
					     row["name"].get<std::string>());
		return false;
	}
};

Chosen choose(const Call &call, const Moment &moment)
{
	Chosen chosen;
	if (call.arguments.empty())
		return chosen;
	chosen.all = false;
	std::vector<Session> sessions;
	for (bool server : {false, true})
		for (const Session &session : read_sessions(call.host, server))
			sessions.push_back(session);
	for (const std::string &word : call.arguments) {
		std::string session;
		try {
			Device device = one_device(moment.devices, word);
			chosen.devices.push_back(device.name);
			session = device.session;
		} catch (const Failure &failure) {
			if (failure.code() != Exit::NotFound)
				throw;
		}
		for (const Path &path : some_paths(sessions, session.empty() ? word : session))
			chosen.paths.push_back(path.session + " " + path.name);
	}
	return chosen;
}

std::vector<Json> only(const Chosen &chosen, const std::vector<Json> &rows)
{
	std::vector<Json> kept;
	for (const Json &row : rows)
		if (chosen.has(row))
			kept.push_back(row);
	return kept;
}

void print_both(Call &call, const Kind &devices, const std::vector<Json> &device_rows,
		const Kind &paths, const std::vector<Json> &path_rows, bool compact)
{
	if (call.style.format == Format::Json) {
		Json j = document();
		j[devices.plural] = device_rows;
		j[paths.plural] = path_rows;
		if (compact)
			call.out << j.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
		else
			print_document(call.out, j);
		return;
	}
	if (call.style.format == Format::Csv) {
		print_rows(call.out, paths, path_rows, call.style);
		return;
	}
	print_rows(call.out, devices, device_rows, call.style);
	if (!device_rows.empty() && !path_rows.empty())
		call.out << '\n';
	print_rows(call.out, paths, path_rows, call.style);
}

Exit watch(Call &call, const Chosen &chosen, Moment before)
{
	// "--watch" alone is each second.
	double interval = static_cast<double>(call.number("interval", 1, 1, 86400));
	std::int64_t count = call.number("count", 0, 1, 1 << 30);
	for (std::int64_t n = 0; !count || n < count; n++) {
		call.host.sleep(interval);
		Moment now = read_moment(call.host);
		if (call.style.format == Format::Table && call.terminal.out_is_terminal)
			call.out << "\033[H\033[2J";
		else if (call.style.format == Format::Table && n)
			call.out << '\n';
		print_both(call, kDeviceRateKind, only(chosen, device_rates(before, now)),
			   kPathRateKind, only(chosen, path_rates(before, now)), true);
		call.out.flush();
		// Nobody reads on.
		if (!call.out)
			return Exit::Failed;
		if (call.style.format == Format::Csv)
			call.style.header = false;
		before = now;
	}
	return Exit::Done;
}

Exit stats(Call &call)
{
	Moment moment = read_moment(call.host);
	Chosen chosen = choose(call, moment);
	if (call.has("reset")) {
		std::vector<std::string> folders;
		for (const Path &path : moment.paths)
			if (chosen.has(to_json(path)))
				folders.push_back(path.folder);
		for (const Device &device : moment.devices)
			if ((chosen.all || std::count(chosen.devices.begin(), chosen.devices.end(),
						      device.name)) &&
			    call.host.exists(device.folder + "/stats/reset_all"))
				folders.push_back(device.folder);
		return call.each(folders.size(), [&](std::size_t i) {
			// In-tree takes 1 only.
			call.write(folders[i] + "/stats/reset_all", "1", Action::Configure,
				   "cannot reset the statistics in " + folders[i]);
		});
	}
	if (call.has("watch") || call.has("interval") || call.has("count"))
		return watch(call, chosen, moment);
	if (call.style.format == Format::Table && call.style.columns.empty()) {
		Style style = call.style;
		style.columns = {"name",   "in_flight",	    "reads", "read_bytes",
				 "writes", "written_bytes", "state"};
		auto devices = only(chosen, to_rows(moment.devices));
		auto paths = only(chosen, to_rows(moment.paths));
		print_rows(call.out, kDeviceKind, devices, style);
		if (!devices.empty() && !paths.empty())
			call.out << '\n';
		style.columns.insert(style.columns.begin(), "session");
		style.columns.insert(style.columns.end() - 1,
				     {"failed_over", "reconnects", "latency_ns"});
		print_rows(call.out, kPathKind, paths, style);
		return Exit::Done;
	}
	if (!call.style.columns.empty() && call.style.format == Format::Table) {
		print_rows(call.out, kPathKind, only(chosen, to_rows(moment.paths)), call.style);
		return Exit::Done;
	}
	print_both(call, kDeviceKind, only(chosen, to_rows(moment.devices)), kPathKind,
		   only(chosen, to_rows(moment.paths)), false);
	return Exit::Done;
}

Exit metrics(Call &call)
{
	std::string text = metrics_text(call.host);
	if (!call.has("file")) {
		call.out << text;
		return Exit::Done;
	}
	std::string file = call.value("file");
	if (int error = call.host.replace_file(file, text))
		throw Failure(exit_of(error), fmt::format("cannot write {}: {}", file,
							  words_of(error, Action::Configure)));
	return Exit::Done;
}

} // namespace

std::vector<Command> stats_commands()
{
	return {
	    {"stats",
	     "show counts of devices and paths, or with --watch their rates and latencies",
	     "Without --watch: what was counted since each device was mapped and each path exists "
	     "or was "
	     "reset. With it: requests and bytes for each second, and the latency that half and 99 "
	     "of 100 "
	     "requests stayed below, in the kernel's classes of time, over the interval.\n\n"
	     "CSV has the paths only. JSON of --watch is one document a line.",
	     {{"OBJECT", "a device, session or path; all if not given", "device|session|path",
	       false, true}},
	     {{"watch", 'w', "", "print rates again and again"},
	      {"interval", 'i', "SECONDS",
	       "with --watch, which it implies: time between them, 1 if not given"},
	      {"count", 0, "NUMBER", "likewise: how many times; for ever if not given"},
	      {"reset", 0, "", "set the counts of the modules to zero"}},
	     {{"rnbdadm stats", ""}, {"rnbdadm stats rnbd0 --watch --interval 5", ""}},
	     nullptr,
	     stats},
	    {"metrics",
	     "print metrics in the OpenMetrics text format",
	     "For the textfile collector of the Prometheus node exporter: rnbd-metrics.timer "
	     "writes them "
	     "each 15 seconds once it is enabled. With --file the file is replaced as a whole.",
	     {},
	     {{"file", 0, "FILE", "write to FILE and not to the output", "file"}},
	     {{"rnbdadm metrics --file /var/lib/prometheus/node-exporter/rnbd.prom", ""}},
	     nullptr,
	     metrics},
	};
}

} // namespace rnbdadm
