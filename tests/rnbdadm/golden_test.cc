// SPDX-License-Identifier: GPL-2.0
// What commands print, in every format: compared with golden/. RNBDADM_GOLDEN=write makes them
// anew; read the difference before it is committed.
#include "fake.hh"

#include "events.hh"
#include "generate.hh"
#include "text.hh"

namespace {

struct Case {
	const char *name;
	const char *line;
	bool degraded;
};

const Case kCases[] = {
    {"list", "list", false},
    {"list-columns", "list devices -c all", false},
    {"list-raw", "list devices --raw --no-header", false},
    {"list-colour", "list paths --color always", true},
    {"list-sessions", "list sessions", true},
    {"list-paths", "list paths", true},
    {"list-opened", "list opened", false},
    {"list-exports", "list exports", false},
    {"list-tree", "list tree", true},
    {"show-device", "show rnbd0", false},
    {"show-session", "show store", true},
    {"show-path", "show 10.0.1.1", true},
    {"server-list", "server list", false},
    {"server-show", "server show alpha", false},
    {"server-stats", "server stats", false},
    {"hca-list", "hca list", true},
    {"explain", "explain rnbd0", true},
    {"explain-open", "explain rnbd1", false},
    {"doctor", "doctor", true},
    {"stats", "stats", true},
};

void prepare(FakeHost &host, bool degraded)
{
	host.client(degraded);
	host.server();
	if (degraded) {
		host.put("/sys/block/rnbd0/rnbd/oldest_request_ms", "12500");
		host.put("/sys/block/rnbd0/rnbd/waiting_requests", "2");
	}
}

} // namespace

TEST(RnbdadmGolden, Tables)
{
	for (const Case &c : kCases) {
		FakeHost host;
		prepare(host, c.degraded);
		Outcome o = run_line(host, c.line);
		EXPECT_EQ(o.err, "") << c.line;
		expect_golden(std::string(c.name) + ".txt", o.out);
	}
}

TEST(RnbdadmGolden, JsonAndCsv)
{
	for (const char *line :
	     {"list devices", "list sessions", "list paths", "list opened", "list exports",
	      "hca list", "doctor", "explain rnbd0", "stats", "show rnbd0", "show store",
	      "server show alpha", "server stats", "dump"}) {
		std::string name = rnbdadm::replace_all(line, " ", "-");
		FakeHost host;
		prepare(host, true);
		Outcome json = run_line(host, std::string(line) + " -o json");
		auto parsed = nlohmann::json::parse(json.out, nullptr, false);
		EXPECT_FALSE(parsed.is_discarded()) << line;
		EXPECT_EQ(parsed["schema"], "rnbdadm") << line;
		EXPECT_EQ(parsed["version"], 1) << line;
		expect_golden(name + ".json", json.out);
		if (std::string(line) != "dump")
			expect_golden(name + ".csv",
				      run_line(host, std::string(line) + " -o csv").out);
	}
}

// One order of columns in tables and CSV, that of the kind's fields, whatever is listed.
TEST(RnbdadmGolden, CsvHasTheOrderOfTheTable)
{
	std::map<std::string, const rnbdadm::Kind *> lists;
	for (const rnbdadm::Command &command : rnbdadm::commands()) {
		const std::string name = command.name;
		if (name.ends_with(" list") && command.kind)
			lists[name] = command.kind;
		for (const rnbdadm::Kind *kind : rnbdadm::all_kinds())
			if (name == "list" &&
			    ("|" + std::string(command.arguments[0].complete) + "|")
				    .find(fmt::format("|{}|", kind->plural)) != std::string::npos)
				lists["list " + std::string(kind->plural)] = kind;
	}
	EXPECT_TRUE(lists.contains("list exports") && lists.contains("hca list"));
	FakeHost host;
	prepare(host, true);
	std::size_t compared = 0;
	for (const auto &[list, kind] : lists)
		for (const char *columns : {"", " -c all"}) {
			std::vector<std::string> titles, keys;
			for (const rnbdadm::Field &field : kind->fields)
				if (field.shown || *columns) {
					titles.push_back(field.title);
					keys.push_back(field.key);
				}
			const std::string line = list + columns;
			const std::string csv = run_line(host, line + " -o csv").out;
			EXPECT_EQ(csv.substr(0, csv.find('\n')), rnbdadm::join(keys, ",")) << line;
			// Without a row there is no table.
			const std::string table = run_line(host, line).out;
			if (table.empty())
				continue;
			EXPECT_EQ(
			    rnbdadm::join(rnbdadm::split(table.substr(0, table.find('\n'))), " "),
			    rnbdadm::join(titles, " "))
			    << line;
			compared++;
		}
	EXPECT_GE(compared, 12u);
}

TEST(RnbdadmGolden, AnInTreeModuleOffersLess)
{
	FakeHost host;
	prepare(host, false);
	std::string session = "/sys/class/rtrs-client/store/";
	for (const char *file : {"mp_policy", "request_timeout", "heartbeat_interval_ms",
				 "heartbeat_missed_max", "reconnect_delay", "tos"})
		host.drop(session + file);
	std::string path = session + "paths/ip:10.0.0.2@ip:10.0.0.1/";
	host.drop(path + "stats/rdma_lat");
	host.put(path + "stats/rdma", "100 409600 200 819200 -3 7");
	host.put(path + "stats/reconnects", "-1 0");
	host.drop("/sys/block/rnbd0/rnbd/no_path_timeout");
	expect_golden("intree-sessions.json", run_line(host, "list sessions -o json").out);
	expect_golden("intree-paths.json", run_line(host, "list paths -o json").out);
	EXPECT_EQ(run_line(host, "explain rnbd0").code, 0);
	EXPECT_EQ(run_line(host, "stats").code, 0);
	EXPECT_EQ(run_line(host, "metrics").code, 0);
}

TEST(RnbdadmGolden, Metrics)
{
	FakeHost host;
	prepare(host, true);
	Outcome o = run_line(host, "metrics");
	expect_golden("metrics.txt", o.out);
	host.put("/var/m.prom", "old");
	EXPECT_EQ(run_line(host, "metrics --file /var/m.prom").code, 0);
	EXPECT_EQ(host.text("/var/m.prom") + "\n", o.out);
	// A name that was mistyped makes no folder.
	o = run_line(host, "metrics --file /vra/lib/m.prom");
	EXPECT_EQ(o.code, 1);
	EXPECT_NE(o.err.find("there is no folder /vra/lib/"), std::string::npos) << o.err;
	EXPECT_FALSE(host.exists("/vra"));
}

TEST(RnbdadmGolden, Watch)
{
	FakeHost host;
	prepare(host, false);
	host.on_sleep = [&] {
		host.put("/sys/block/rnbd0/stat", "1100 0 8800 50 200 0 1600 60 3 100 110");
		std::string path =
		    "/sys/class/rtrs-client/store/paths/ip:10.0.0.2@ip:10.0.0.1/stats/";
		host.put(path + "rdma", "1100 4505600 200 819200 5 7");
		host.put(path + "rdma_lat",
			 "1 ms: 990 180\n2 ms: 99 10\n4 ms: 11 10\n>= 65536 ms: 0 0");
	};
	expect_golden("watch.txt", run_line(host, "stats -w -i 2 --count 1").out);
	FakeHost other;
	prepare(other, false);
	Outcome o = run_line(other, "stats -w --count 2 -o json");
	EXPECT_EQ(rnbdadm::split(o.out, "\n").size(), 2u);
}

TEST(RnbdadmGolden, Texts)
{
	FakeHost host;
	expect_golden("help.txt", run_line(host, "--help").out);
	expect_golden("help-map.txt", run_line(host, "map --help").out);
	expect_golden("schema.json", run_line(host, "generate schema").out);
}

TEST(RnbdadmStats, MicrosecondsWhereTheModuleHasThem)
{
	FakeHost host;
	prepare(host, false);
	std::string path = "/sys/class/rtrs-client/store/paths/ip:10.0.0.2@ip:10.0.0.1/stats/";
	host.put(path + "latency_us", "1 us: 0 0\n128 us: 0 0\n>= 4194304 us: 0 0");
	host.on_sleep = [&] {
		host.put(path + "latency_us", "1 us: 0 0\n128 us: 60 40\n>= 4194304 us: 0 0");
	};
	Outcome o = run_line(host, "stats -w --count 1");
	EXPECT_NE(o.out.find("128 us  128 us"), std::string::npos) << o.out;
}

// Exports by name do not close what lies below dev_search_path.
TEST(RnbdadmDoctor, WhatTheServerOffers)
{
	FakeHost host;
	host.server();
	std::string parameters = "/sys/module/rnbd_server/parameters/";
	host.put(parameters + "dev_search_path", "/");
	host.put(parameters + "exports_only", "N");
	std::string note = "not just the exports";
	EXPECT_NE(run_line(host, "doctor").out.find(note), std::string::npos);
	host.put(parameters + "exports_only", "Y");
	EXPECT_EQ(run_line(host, "doctor").out.find("all of its block devices"), std::string::npos);
	host.put(parameters + "exports_only", "N");
	host.put(parameters + "dev_search_path", "/dev/rnbd");
	EXPECT_EQ(run_line(host, "doctor").out.find("all of its block devices"), std::string::npos);
}

TEST(RnbdadmDoctor, EveryMistakeOfTheConfigurationIsIndented)
{
	FakeHost host;
	host.client();
	host.put("/etc/rnbd/rnbd.conf", "[sesion a]\nnonsense");
	std::string out = run_line(host, "doctor").out;
	EXPECT_NE(out.find("\n            /etc/rnbd/rnbd.conf:2"), std::string::npos) << out;
}

// Both cables are out: the paths count as connected until heartbeats are missed.
TEST(RnbdadmExplain, ConnectedWithoutACable)
{
	FakeHost host;
	host.client();
	EXPECT_EQ(run_line(host, "explain rnbd0").code, 0);
	EXPECT_EQ(run_line(host, "doctor").code, 0);
	host.put("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
	Outcome o = run_line(host, "explain rnbd0");
	EXPECT_EQ(o.code, 12);
	EXPECT_NE(o.out.find("connected, heartbeat answered in 14.5 us, 3 requests in flight; its "
			     "port mlx5_0:1 is down"),
		  std::string::npos)
	    << o.out;
	o = run_line(host, "doctor");
	EXPECT_EQ(o.code, 12);
	EXPECT_NE(o.out.find("disks of session store have paths over it"), std::string::npos);
}

TEST(RnbdadmExplain, AServerThatFellSilent)
{
	FakeHost host;
	host.client();
	const std::string path =
	    "/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1/heartbeats_missed";
	host.put(path, "1"); // one that is on its way
	EXPECT_EQ(run_line(host, "explain rnbd0").code, 0);
	host.put(path, "3");
	Outcome o = run_line(host, "explain rnbd0");
	EXPECT_EQ(o.code, 12);
	EXPECT_NE(o.out.find("no word from the server for 3 heartbeats of 5 s, the path ends after "
			     "5"),
		  std::string::npos)
	    << o.out;
	host.put(path, "0");
	host.put("/sys/block/rnbd0/rnbd/oldest_request_ms", "2500");
	o = run_line(host, "explain rnbd0");
	EXPECT_NE(o.out.find("note     requests: "), std::string::npos) << o.out;
}

TEST(RnbdadmExplain, WhyAndWhenAgain)
{
	FakeHost host;
	host.client(true);
	const std::string path = "/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1/";
	host.put(path + "last_error", "-111");
	host.put(path + "attempts", "7");
	host.put(path + "next_attempt_ms", "12000");
	std::string out = run_line(host, "explain rnbd0").out;
	EXPECT_NE(out.find("7 attempts failed so far, 30 are allowed in a row, the next in 12 s"),
		  std::string::npos)
	    << out;
	EXPECT_NE(out.find("the last: nobody listens there"), std::string::npos) << out;
	host.put(path + "last_reason", "refused: ENOENT");
	EXPECT_NE(run_line(host, "explain rnbd0").out.find("the last: refused: ENOENT: "),
		  std::string::npos);
	host.put(path + "last_error", "-93");
	EXPECT_NE(run_line(host, "explain rnbd0").out.find("requires a proof"), std::string::npos);
	host.put(path + "last_reason", "large packets lost");
	out = run_line(host, "explain rnbd0").out;
	EXPECT_NE(out.find("has a smaller MTU than both ends"), std::string::npos) << out;
	EXPECT_NE(out.find("ping -M do -s 1472 10.0.1.1,"), std::string::npos) << out;
	host.put(path + "last_reason", "refused: ENOENT");
	const std::string shown = run_line(host, "path show ip:10.0.1.2@ip:10.0.1.1 -o json").out;
	for (const char *part : {"\"last_reason\": \"refused: ENOENT\"", "\"attempts\": 7",
				 "\"next_attempt_ms\": 12000"})
		EXPECT_NE(shown.find(part), std::string::npos) << part << shown;
	host.put(path + "attempts", "30");
	host.put(path + "next_attempt_ms", "-1");
	out = run_line(host, "explain rnbd0").out;
	EXPECT_NE(out.find("it has given up"), std::string::npos) << out;
}

TEST(RnbdadmExplain, APathThatNeverFailed)
{
	FakeHost host;
	host.client(true);
	host.put("/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1/stats/reconnects",
		 "0 0");
	std::string out = run_line(host, "explain rnbd0").out;
	EXPECT_NE(out.find("disconnected by hand"), std::string::npos) << out;
}

TEST(RnbdadmExplain, ADiskThatDoesNotAnswer)
{
	const std::string rnbd0 = "/sys/block/rnbd0/rnbd/";
	const std::string word = "the server's disk has not answered since, the paths are alive";
	FakeHost host;
	host.client(true);
	host.put(rnbd0 + "oldest_request_ms", "45000");
	host.put(rnbd0 + "waiting_requests", "0");
	std::string out = run_line(host, "explain rnbd0").out;
	EXPECT_NE(out.find("the oldest for 45 s: " + word), std::string::npos) << out;
	// Without a path, that is the reason.
	host.put(rnbd0 + "state", "closed");
	out = run_line(host, "explain rnbd0").out;
	EXPECT_EQ(out.find(word), std::string::npos) << out;
	host.put(rnbd0 + "state", "open");
	host.put(rnbd0 + "waiting_requests", "1");
	out = run_line(host, "explain rnbd0").out;
	EXPECT_EQ(out.find(word), std::string::npos) << out;
}

TEST(RnbdadmStats, OfDevicesToo)
{
	FakeHost host;
	host.client();
	std::string rnbd0 = "/sys/block/rnbd0/rnbd/";
	host.put(rnbd0 + "stats/latency_us", "1 us: 0 0\n128 us: 0 0\n>= 4194304 us: 0 0");
	host.put(rnbd0 + "oldest_request_ms", "250");
	host.on_sleep = [&] {
		host.put(rnbd0 + "stats/latency_us",
			 "1 us: 0 0\n128 us: 60 40\n>= 4194304 us: 0 0");
	};
	Outcome o = run_line(host, "top --count 1 --raw -o csv");
	EXPECT_EQ(o.code, 0) << o.err;
	o = run_line(host, "stats --count 1");
	EXPECT_NE(o.out.find("P50"), std::string::npos) << o.out;
	host.put(rnbd0 + "stats/latency_us", "1 us: 0 0\n128 us: 0 0\n>= 4194304 us: 0 0");
	o = run_line(host, "top --count 1");
	EXPECT_NE(o.out.find("128 us  128 us  250 ms  open"), std::string::npos) << o.out;
}

TEST(RnbdadmStats, AnIntervalMeansWatch)
{
	FakeHost host;
	host.client();
	EXPECT_NE(run_line(host, "stats --count 1").out.find("READS/s"), std::string::npos);
}

TEST(RnbdadmStats, ColumnsOfBoth)
{
	FakeHost host;
	prepare(host, false);
	auto first_lines = [&](const std::string &options) {
		Outcome o = run_line(host, "stats " + options);
		EXPECT_EQ(o.code, 0) << o.err;
		std::vector<std::string> titles;
		std::size_t at = 0;
		while (at < o.out.size()) {
			titles.push_back(rnbdadm::join(
			    rnbdadm::split(o.out.substr(at, o.out.find('\n', at) - at)), " "));
			std::size_t blank = o.out.find("\n\n", at);
			at = blank == std::string::npos ? o.out.size() : blank + 2;
		}
		return rnbdadm::join(titles, "|");
	};
	EXPECT_EQ(first_lines("-c name,reads"), "NAME READS|NAME READS");
	EXPECT_EQ(first_lines("-c name,owner,hca"), "NAME OWNER|NAME HCA");
	EXPECT_EQ(first_lines("-c owner"), "OWNER");
	EXPECT_EQ(first_lines("-c hca"), "HCA");
	EXPECT_EQ(first_lines("-c +owner,-reads"),
		  "NAME IN FLIGHT READ WRITES WRITTEN STATE OWNER|SESSION NAME IN FLIGHT READ "
		  "WRITES WRITTEN FAILED OVER RECONNECTS LATENCY STATE");
	EXPECT_EQ(first_lines("--count 1 -c name,oldest_request_ms"), "NAME OLDEST|PATH");
	for (const char *command : {"stats -c redas", "stats -w --count 1 -c redas",
				    "stats -c redas -o json", "top --count 1 -c redas"}) {
		Outcome o = run_line(host, command);
		EXPECT_EQ(o.code, 2) << command;
		EXPECT_NE(o.err.find("neither devices nor paths have a column 'redas'"),
			  std::string::npos)
		    << o.err;
	}
	auto json = nlohmann::json::parse(run_line(host, "stats -c owner -o json").out);
	EXPECT_EQ(json["devices"][0].size(), 1u);
	EXPECT_FALSE(json.contains("paths"));
	// It has the paths only.
	EXPECT_EQ(run_line(host, "stats -c owner -o csv").code, 2);
	std::string csv = run_line(host, "stats -c name,hca -o csv").out;
	EXPECT_TRUE(csv.starts_with("name,hca\n")) << csv;
}

TEST(RnbdadmStats, OneObjectAndReset)
{
	FakeHost host;
	prepare(host, false);
	std::string out = run_line(host, "stats 10.0.1.1").out;
	EXPECT_EQ(out.find("10.0.0.1"), std::string::npos);
	EXPECT_EQ(run_line(host, "stats store --reset").code, 0);
	EXPECT_GE(host.writes.size(), 2u);
	EXPECT_EQ(run_line(host, "stats nothing").code, 3);
}

TEST(RnbdadmMonitor, OnlyWhatConcernsUs)
{
	using rnbdadm::read_event;
	EXPECT_FALSE(read_event({0, {{"SUBSYSTEM", "block"}, {"DEVPATH", "/devices/sda"}}}));
	EXPECT_FALSE(read_event({0, {{"SUBSYSTEM", "net"}, {"DEVPATH", "/devices/eth0"}}}));
	EXPECT_FALSE(read_event({0, {}}));
	auto event = read_event({0,
				 {{"ACTION", "change"},
				  {"SUBSYSTEM", "block"},
				  {"DEVPATH", "/devices/virtual/block/rnbd0"},
				  {"RESIZE", "1"}}});
	ASSERT_TRUE(event);
	EXPECT_EQ(event->name, "disk-resize");
	EXPECT_EQ(event->object, "rnbd0");
	EXPECT_EQ(event->rest, "RESIZE=1");
}

TEST(RnbdadmMonitor, WhatHappensToPathsIsToldWithTimeAndReason)
{
	setenv("TZ", "CET-1", 1);
	tzset();
	FakeHost host;
	host.happens = {
	    {1795673626.123,
	     {{"ACTION", "change"},
	      {"SUBSYSTEM", "rtrs-client"},
	      {"DEVPATH", "/devices/virtual/rtrs-client/store"},
	      {"SEQNUM", "1234"},
	      {"RTRS_EVENT", "path-lost"},
	      {"RTRS_SESSION", "store"},
	      {"RTRS_PATH", "ip:10.0.0.2@ip:10.0.0.1"},
	      {"RTRS_ERROR", "-110"},
	      {"RTRS_REASON", "no heartbeat"}}},
	    {1795673626.5, {{"ACTION", "add"}, {"SUBSYSTEM", "net"}, {"DEVPATH", "/devices/eth0"}}},
	    {1795673627,
	     {{"ACTION", "offline"},
	      {"SUBSYSTEM", "rtrs-client"},
	      {"DEVPATH", "/devices/virtual/rtrs-client/store"},
	      {"RTRS_EVENT", "session-lost"},
	      {"RTRS_SESSION", "store"}}},
	    {1795673627.25,
	     {{"ACTION", "offline"},
	      {"SUBSYSTEM", "block"},
	      {"DEVPATH", "/devices/virtual/block/rnbd0"},
	      {"DEVTYPE", "disk"},
	      {"RNBD_SESSION", "store"}}},
	    {1795673629,
	     {{"ACTION", "remove"},
	      {"SUBSYSTEM", "infiniband"},
	      {"DEVPATH", "/devices/virtual/infiniband/rxe0\033[2J"}}},
	};
	expect_golden("monitor.txt", run_line(host, "monitor").out);
	expect_golden("monitor.json", run_line(host, "monitor -o json").out);
	expect_golden("monitor.csv", run_line(host, "monitor -o csv").out);
	EXPECT_EQ(run_line(host, "monitor --count 2 -o json").out.find("rnbd0"), std::string::npos);
	unsetenv("TZ");
	tzset();
}
