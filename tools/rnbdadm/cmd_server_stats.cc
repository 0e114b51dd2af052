// SPDX-License-Identifier: GPL-2.0
// server stats: how much each client asks of each device.
#include "mapping.hh"
#include "statistics.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// What clients have open, or what of it was named: by its device, the client's name of it, or the
// session.
std::vector<Opened> chosen(const Call &call)
{
	std::vector<Opened> opened = read_opened(call.host);
	if (!call.arguments.empty())
		std::erase_if(opened, [&](const Opened &o) {
			return std::none_of(
			    call.arguments.begin(), call.arguments.end(),
			    [&](const std::string &word) { return o.is_meant(word); });
		});
	return opened;
}

// Failure (NotFound) for a word that stands for nothing of it.
void check_words(const Call &call, const std::vector<Opened> &opened)
{
	std::vector<std::string> known;
	for (const Opened &o : read_opened(call.host))
		for (const std::string &name : {o.device, o.client_path, o.session})
			known.push_back(name);
	for (const std::string &word : call.arguments)
		if (std::none_of(opened.begin(), opened.end(),
				 [&](const Opened &o) { return o.is_meant(word); }))
			throw Failure(Exit::NotFound,
				      fmt::format("no client has '{}' open, and no session that "
						  "has something open is named so{}",
						  word, did_you_mean(word, known)));
}

// What a client opens or closes meanwhile comes and goes.
Exit watch(Call &call, std::vector<Opened> before)
{
	Style style = call.style;
	chosen_fields(kOpenedRateKind, style.columns);
	double then = call.host.now();
	return call.watch([&] {
		const std::vector<Opened> now = chosen(call);
		const double time = call.host.now();
		const std::vector<Json> rows = opened_rates(before, now, time - then);
		if (style.format == Format::Json) {
			Json j = document();
			j[kOpenedRateKind.plural] = json_rows(kOpenedRateKind, rows, style);
			print_line(call.out, j);
		} else {
			print_rows(call.out, kOpenedRateKind, rows, style);
		}
		if (style.format == Format::Csv)
			style.header = false;
		before = now;
		then = time;
	});
}

Exit server_stats(Call &call)
{
	need_server(call.host);
	const std::vector<Opened> opened = chosen(call);
	check_words(call, opened);
	if (!opened.empty() && std::none_of(opened.begin(), opened.end(),
					    [](const Opened &o) { return o.reads.has_value(); }))
		throw too_old_server();
	if (call.watches())
		return watch(call, opened);
	Style style = call.style;
	const std::vector<std::string> usual = {"device", "session",	   "reads", "read_bytes",
						"writes", "written_bytes", "errors"};
	if (style.format != Format::Json &&
	    std::all_of(style.columns.begin(), style.columns.end(), is_change))
		style.columns.insert(style.columns.begin(), usual.begin(), usual.end());
	print_rows(call.out, kOpenedKind, to_rows(opened), style);
	return Exit::Done;
}

} // namespace

std::vector<Command> server_stats_commands()
{
	return {
	    {"server stats",
	     "show how much each client asks of each device, or with --watch its rates",
	     "Without --watch: what was counted since the session opened the device, or connected "
	     "again after all of its paths were lost. With it: requests and bytes for each "
	     "second. JSON of --watch is one document a line.",
	     {{"OBJECT", "a block device, a client's name of one, or a session; all if not given",
	       "served|server-session", false, true}},
	     {{opt::kWatch, "print rates again and again"},
	      {opt::kInterval, "with --watch, which it implies: time between them, 1 if not given"},
	      {opt::kCount, "likewise: how many times; for ever if not given"}},
	     {{"rnbdadm server stats", ""},
	      {"rnbdadm server stats nvme0n1 --watch", "who keeps this device busy"}},
	     &kOpenedKind,
	     server_stats},
	};
}

} // namespace rnbdadm
