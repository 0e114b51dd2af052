// SPDX-License-Identifier: GPL-2.0
// stats, top, metrics.
#include "mapping.hh"
#include "metrics.hh"
#include "names.hh"
#include "screen.hh"
#include "statistics.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>
#include <sstream>

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
	const std::vector<Session> sessions = all_sessions(call.host);
	for (const std::string &word : call.arguments) {
		std::string session;
		try {
			Device device = one_device(call.host, moment.devices, word);
			chosen.devices.push_back(device.name);
			session = device.session;
		} catch (const Failure &failure) {
			if (failure.code() != Exit::NotFound)
				throw;
		}
		for (const Path &path :
		     some_paths(call.host, sessions, session.empty() ? word : session))
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

// The two tables, and how each is shown: not at all if it has none of the columns that were asked
// for.
struct Tables {
	const Kind &devices, &paths;
	std::optional<Style> device_style, path_style;
};

bool has_column(const Kind &kind, const std::string &column)
{
	return std::any_of(kind.fields.begin(), kind.fields.end(),
			   [&](const Field &field) { return column == field.key; });
}

// `usual` are the columns of a table if nothing else was asked for; empty: those of its kind.
std::optional<Style> style_of(const Call &call, const Kind &kind,
			      const std::vector<std::string> &usual)
{
	const std::vector<std::string> &asked = call.style.columns;
	Style style = call.style;
	style.columns.clear();
	for (const std::string &column : asked) {
		std::string name = is_change(column) ? column.substr(1) : column;
		if (name == "all" || has_column(kind, name))
			style.columns.push_back(column);
	}
	bool changes = std::all_of(asked.begin(), asked.end(), is_change);
	if (style.columns.empty() && !changes)
		return std::nullopt;
	if (style.format == Format::Table && changes)
		style.columns.insert(style.columns.begin(), usual.begin(), usual.end());
	return style;
}

// Failure (Usage) for a column that neither of them has.
Tables tables_of(const Call &call, const Kind &devices, const Kind &paths,
		 const std::vector<std::string> &usual_devices = {},
		 const std::vector<std::string> &usual_paths = {})
{
	// It has one header, and so one table.
	if (call.style.format == Format::Csv) {
		chosen_fields(paths, call.style.columns);
		return {devices, paths, std::nullopt, call.style};
	}
	std::vector<std::string> known;
	for (const Kind *kind : {&devices, &paths})
		for (const Field &field : kind->fields)
			if (!std::count(known.begin(), known.end(), field.key))
				known.push_back(field.key);
	for (const std::string &column : call.style.columns) {
		std::string name = is_change(column) ? column.substr(1) : column;
		if (name != "all" && !std::count(known.begin(), known.end(), name))
			throw Failure(Exit::Usage,
				      fmt::format("neither devices nor paths have a column "
						  "'{}' here{}",
						  name, did_you_mean(name, known)),
				      "columns: all " + join(known, " "));
	}
	Tables tables{devices, paths, style_of(call, devices, usual_devices),
		      style_of(call, paths, usual_paths)};
	for (const auto &[kind, style] :
	     {std::pair{&devices, &tables.device_style}, std::pair{&paths, &tables.path_style}})
		if (*style)
			chosen_fields(*kind, (*style)->columns);
	return tables;
}

void print_both(Call &call, const Tables &tables, const std::vector<Json> &device_rows,
		const std::vector<Json> &path_rows, bool compact)
{
	if (call.style.format == Format::Json) {
		Json j = document();
		if (tables.device_style)
			j[tables.devices.plural] =
			    json_rows(tables.devices, device_rows, *tables.device_style);
		if (tables.path_style)
			j[tables.paths.plural] =
			    json_rows(tables.paths, path_rows, *tables.path_style);
		if (compact)
			print_line(call.out, j);
		else
			print_document(call.out, j);
		return;
	}
	if (tables.device_style)
		print_rows(call.out, tables.devices, device_rows, *tables.device_style);
	if (tables.device_style && !device_rows.empty() && tables.path_style && !path_rows.empty())
		call.out << '\n';
	if (tables.path_style)
		print_rows(call.out, tables.paths, path_rows, *tables.path_style);
}

Exit watch(Call &call, const Chosen &chosen, Moment before)
{
	Tables tables = tables_of(call, kDeviceRateKind, kPathRateKind);
	return call.watch([&] {
		Moment now = read_moment(call.host);
		print_both(call, tables, only(chosen, device_rates(before, now)),
			   only(chosen, path_rates(before, now)), true);
		if (call.style.format == Format::Csv)
			tables.path_style->header = false;
		before = now;
	});
}

Exit stats(Call &call)
{
	need_modules(call.host);
	Moment moment = read_moment(call.host);
	Chosen chosen = choose(call, moment);
	if (call.has(opt::kReset)) {
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
	if (call.watches())
		return watch(call, chosen, moment);
	const Tables tables = tables_of(
	    call, kDeviceKind, kPathKind,
	    {"name", "in_flight", "reads", "read_bytes", "writes", "written_bytes", "state"},
	    {"session", "name", "in_flight", "reads", "read_bytes", "writes", "written_bytes",
	     "failed_over", "reconnects", "latency_ns", "state"});
	print_both(call, tables, only(chosen, to_rows(moment.devices)),
		   only(chosen, to_rows(moment.paths)), false);
	return Exit::Done;
}

std::string totals(const std::vector<Json> &devices)
{
	double reads = 0, read = 0, writes = 0, written = 0;
	std::uint64_t in_flight = 0;
	for (const Json &row : devices) {
		reads += row["read_rate"].get<double>();
		read += row["read_bytes_rate"].get<double>();
		writes += row["write_rate"].get<double>();
		written += row["written_bytes_rate"].get<double>();
		in_flight += row["in_flight"].get<std::uint64_t>();
	}
	return fmt::format("all devices: {} reads/s, {}/s; {} writes/s, {}/s; {} in flight",
			   human_count(reads), human_bytes(read), human_count(writes),
			   human_bytes(written), in_flight);
}

void add_table(std::vector<ScreenLine> &lines, const std::optional<Style> &given, const Kind &kind,
	       const std::vector<Json> &rows)
{
	if (!given)
		return;
	Style style = *given;
	style.colour = false;
	style.header = true;
	style.width = 0; // a line for each row
	std::ostringstream text;
	print_rows(text, kind, rows, style);
	std::vector<std::string> table = split(text.str(), "\n");
	if (!lines.empty() && !table.empty())
		lines.push_back({"", "", false});
	for (std::size_t i = 0; i < table.size(); i++)
		lines.push_back(
		    {table[i], i ? rows[i - 1]["state"].get<std::string>() : "", i == 0});
}

Exit on_screen(Call &call, const Tables &tables, Screen &screen, const Chosen &chosen,
	       Moment before)
{
	double interval = static_cast<double>(call.number(opt::kInterval));
	std::int64_t count = call.number(opt::kCount);
	// At first what is there, with rates over no time.
	Moment now = before;
	for (std::int64_t n = 0;; n++) {
		auto devices = only(chosen, device_rates(before, now));
		auto paths = only(chosen, path_rates(before, now));
		auto lost = std::count_if(paths.begin(), paths.end(), [](const Json &row) {
			return row["state"] != "connected";
		});
		const std::vector<ScreenLine> fixed = {
		    {fmt::format("rnbdadm top: {} devices, {} paths, {} of them not connected; "
				 "each {:.0f} s; q ends",
				 devices.size(), paths.size(), lost, interval),
		     "", true},
		    {totals(devices), "", false},
		    {"", "", false}};
		std::vector<ScreenLine> lines;
		add_table(lines, tables.device_style, tables.devices, devices);
		add_table(lines, tables.path_style, tables.paths, paths);
		screen.draw(fixed, lines);
		if (count && n >= count)
			return Exit::Done;
		for (double end = call.host.now() + interval, left = interval; left > 0;
		     left = end - call.host.now()) {
			Screen::Answer answer = screen.wait(left);
			if (answer == Screen::Answer::Quit)
				return Exit::Done;
			if (answer == Screen::Answer::Draw)
				screen.draw(fixed, lines);
		}
		before = now;
		now = read_moment(call.host);
	}
}

Exit top(Call &call)
{
	need_modules(call.host);
	Moment moment = read_moment(call.host);
	Chosen chosen = choose(call, moment);
	// What is wrong is said before there is a screen.
	const Tables tables = tables_of(call, kDeviceRateKind, kPathRateKind);
	if (call.style.format == Format::Table && call.terminal.out_is_terminal)
		if (std::unique_ptr<Screen> screen = Screen::open())
			return on_screen(call, tables, *screen, chosen, moment);
	return watch(call, chosen, moment);
}

Exit metrics(Call &call)
{
	std::string text = metrics_text(call.host);
	if (!call.has(opt::kFile)) {
		call.out << text;
		return Exit::Done;
	}
	std::string file = call.value(opt::kFile);
	call.save(file, text);
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
	     "--columns takes columns of devices and of paths: each table shows those that it has, "
	     "and one that has none of them is left out. CSV has the paths only. JSON of --watch "
	     "is one document a line.",
	     {{"OBJECT", "a device, session or path; all if not given", "device|session|path",
	       false, true}},
	     {{opt::kWatch, "print rates again and again"},
	      {opt::kInterval, "with --watch, which it implies: time between them, 1 if not given"},
	      {opt::kCount, "likewise: how many times; for ever if not given"},
	      {opt::kReset, "set the counts of the modules to zero"}},
	     {{"rnbdadm stats", ""}, {"rnbdadm stats rnbd0 --watch --interval 5", ""}},
	     nullptr,
	     stats},
	    {"top",
	     "show rates, latencies and states on a full screen, again and again",
	     "Totals, then a line for each device and each path: requests and bytes for each "
	     "second, the latency that half and 99 of 100 requests stayed below, the age of the "
	     "oldest request, states. Arrows and page keys move the lines; q ends. Where the "
	     "output is no terminal, or one without a screen, it is 'rnbdadm stats --watch'.",
	     {{"OBJECT", "a device, session or path; all if not given", "device|session|path",
	       false, true}},
	     {{opt::kInterval, "time between two looks, 1 if not given"},
	      {opt::kCount, "how many times; until q is pressed if not given"}},
	     {{"rnbdadm top", ""}, {"rnbdadm top store --interval 5", ""}},
	     nullptr,
	     top,
	     false,
	     "table|json|csv"},
	    {"metrics",
	     "print metrics in the Prometheus text format",
	     "For the textfile collector of the Prometheus node exporter: rnbd-metrics.timer "
	     "writes them "
	     "each 15 seconds once it is enabled. With --file the file is replaced as a whole.",
	     {},
	     {{opt::kFile, "write to FILE and not to the output"}},
	     {{"rnbdadm metrics --file /var/lib/prometheus/node-exporter/rnbd.prom", ""}},
	     nullptr,
	     metrics,
	     false,
	     ""},
	};
}

} // namespace rnbdadm
