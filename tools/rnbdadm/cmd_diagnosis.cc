// SPDX-License-Identifier: GPL-2.0
// explain, doctor, monitor.
#include "diagnosis.hh"
#include "events.hh"
#include "hooks.hh"
#include "mapping.hh"
#include "names.hh"
#include "text.hh"

#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

void print_findings(Call &call, const std::vector<Finding> &findings)
{
	if (call.style.format != Format::Table || !call.style.columns.empty()) {
		print_rows(call.out, kFindingKind, to_rows(findings), call.style);
		return;
	}
	for (const Finding &f : findings) {
		std::string verdict =
		    coloured(fmt::format("{:7}", f.verdict), f.verdict, call.style.colour);
		call.out << fmt::format("{}  {}: {}\n", verdict, printable(f.check),
					printable(f.text));
		if (!f.advice.empty())
			call.out << fmt::format(
			    "         -> {}\n",
			    replace_all(printable(f.advice), "\n", "\n            "));
	}
}

namespace {

Exit explain(Call &call)
{
	need_client(call.host);
	const auto object = session_or_device(call.host, read_sessions(call.host, false),
					      read_devices(call.host), call.arguments[0]);
	const Device *device = std::get_if<Device>(&object);
	const std::vector<Finding> findings =
	    device ? explain_device(call.host, *device)
		   : explain_session(call.host, std::get<Session>(object));
	print_findings(call, findings);
	return has_problem(findings) ? Exit::Differs : Exit::Done;
}

Exit doctor(Call &call)
{
	std::vector<Finding> findings = examine_host(call.host);
	print_findings(call, findings);
	return has_problem(findings) ? Exit::Differs : Exit::Done;
}

Exit monitor(Call &call)
{
	std::int64_t count = call.number(opt::kCount);
	double seconds = static_cast<double>(call.number(opt::kFor));
	const std::string hooks = call.value(opt::kRun);
	if (!hooks.empty() && !hooks.starts_with("/"))
		throw Failure(Exit::Usage, "monitor: --run takes an absolute path");
	const double limit = static_cast<double>(call.number(opt::kRunLimit));
	std::int64_t seen = 0;
	bool header = call.style.header;
	watch_events(call.host, seconds, [&](const Event &event) {
		const Json row = to_json(event);
		if (call.style.format == Format::Json) {
			call.out << row.dump(-1, ' ', false, Json::error_handler_t::replace)
				 << '\n';
		} else if (call.style.format == Format::Csv) {
			Style style = call.style;
			style.header = header;
			print_rows(call.out, kEventKind, {row}, style);
			header = false;
		} else {
			call.out << printable(fmt::format("{}  {:14} {:12} {}{}{}", event.time,
							  event.name, event.subsystem, event.object,
							  event.rest.empty() ? "" : "  ",
							  event.rest))
				 << '\n';
		}
		call.out.flush();
		if (!hooks.empty())
			run_hooks(call.host, hooks, event, limit, [&](const std::string &text) {
				call.report(Failure(Exit::Failed, text));
			});
		return call.out && (!count || ++seen < count);
	});
	return Exit::Done;
}

} // namespace

std::vector<Command> diagnosis_commands()
{
	return {
	    {"explain",
	     "say why a device or a session does not work, and what to do next",
	     "Looks at the device, its session, each path with the port that it leaves from, its "
	     "queue pairs and its attempts to reconnect, what lies between this machine and the "
	     "server (route, carrier, neighbour, MTU), the requests that wait, and who uses the "
	     "device. It asks the kernel only, never the disk, and answers for a device that is "
	     "dead, too. Exits with 12 if there is a problem.",
	     {{"OBJECT",
	       "a mapped device, by any of its names, or a session, by its name, an address or its "
	       "server's name",
	       "device|session"}},
	     {},
	     {{"rnbdadm explain rnbd0", ""},
	      {"rnbdadm explain store1", "all that leads to that server"}},
	     &kFindingKind,
	     explain},
	    {"doctor",
	     "check what this machine needs to be a client or a server",
	     "Modules that are loaded, and the files that modprobe would take, for this kernel "
	     "and for the newest one that is installed: whether DKMS has built and signed them, "
	     "whether the kernel's own would win, whether Secure Boot lets them be loaded, which "
	     "only root can know. RDMA devices and their addresses, packet filters, memory, "
	     "limits, sessions, devices and the configuration. Exits with 12 if there is a "
	     "problem.",
	     {},
	     {},
	     {{"rnbdadm doctor", ""}},
	     &kFindingKind,
	     doctor},
	    {"monitor",
	     "print events of the kernel about disks, sessions and RDMA devices",
	     "A line for each event as it happens, with its time: of disks (block), sessions and "
	     "their paths (rtrs-client, rtrs-server) and RDMA devices. A path that is lost, is "
	     "back "
	     "or has given up is told with the reason. JSON has one object a line.\n\n"
	     "With --run, programs of the administrator's hear of each event: their first word is "
	     "its name, their second one the object, and the environment has RNBD_EVENT, "
	     "RNBD_TIME, "
	     "RNBD_ACTION, RNBD_SUBSYSTEM, RNBD_OBJECT, RNBD_SESSION, RNBD_PATH and RNBD_REASON, "
	     "empty where there is none. They run one after the other; what happens meanwhile "
	     "comes "
	     "after it. Files that others than root could have written are not run.",
	     {},
	     {{opt::kCount, "end after so many events"},
	      {opt::kFor, "end after this time"},
	      {opt::kRun,
	       "run that program for each event, or all programs of that folder, in the order of "
	       "their names"},
	      {opt::kRunLimit, "end a program that runs for longer, 30 if not given"}},
	     {{"rnbdadm monitor -o json", ""},
	      {"rnbdadm monitor --run /etc/rnbd/events.d",
	       "what rnbd-events.service does; enable it, and put programs there"}},
	     &kEventKind,
	     monitor},
	};
}

} // namespace rnbdadm
