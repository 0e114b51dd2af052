// SPDX-License-Identifier: GPL-2.0
// Thousands of disks: no command's work grows faster than their number.
#include "fake.hh"

#include <ctime>

namespace {

constexpr int kPerSession = 20;

// Disks that are mapped, mounted and configured, and as many that are exported to clients.
void grow(FakeHost &host, int disks)
{
	host.client();
	host.server();
	std::string mounts, config;
	for (int s = 0; s * kPerSession < disks; s++) {
		const std::string name = fmt::format("s{}", s);
		const std::string source = "10.0.0.2",
				  server = fmt::format("10.1.{}.{}", s / 200, 1 + s % 200);
		host.session(name);
		host.path(name, "ip:" + source, "ip:" + server, "mlx5_0", "connected");
		config += fmt::format("[session {}]\npath = {}@{}\n", name, source, server);
		const std::string client = fmt::format(
		    "/sys/class/rtrs-server/{}/paths/ip:{}@ip:{}/", name, server, source);
		host.put(client + "src_addr", "ip:" + server);
		host.put(client + "dst_addr", "ip:" + source);
	}
	const std::string links = "/sys/class/rnbd-client/ctl/devices";
	fs::create_directories(host.place(links));
	for (int i = 10; i < disks + 10; i++) {
		// All end with the same word.
		const std::string path = fmt::format("/dev/vg{}/data", i);
		const std::string session = fmt::format("s{}", (i - 10) / kPerSession);
		host.device(i, session, path);
		fs::create_symlink(
		    fmt::format("../../../../block/rnbd{}", i),
		    host.place(fmt::format("{}/!dev!vg{}!data@{}", links, i, session)));
		mounts += fmt::format("{0} 1 252:{0} / /srv/d{0} rw - ext4 /dev/rnbd{0} rw\n", i);
		config +=
		    fmt::format("[device d{}]\nsession = {}\ndevice = {}\n", i, session, path);
		const std::string exported = fmt::format("/sys/kernel/config/rnbd/exports/e{}/", i);
		host.put(exported + "device_path", path);
		host.put(exported + "access", "rw");
		host.put(exported + "enable", "1");
		config += fmt::format("[export e{}]\ndevice = {}\n", i, path);
		const std::string opened = fmt::format(
		    "/sys/class/rnbd-server/ctl/devices/vg{}!data/sessions/{}/", i, session);
		host.put(opened + "access_mode", "rw");
		host.put(opened + "mapping_path", path);
	}
	host.put("/proc/self/mountinfo", mounts);
	host.put("/etc/rnbd/rnbd.conf", config);
}

// Processor time, which a busy machine lengthens less.
double seconds_of(FakeHost &host, const std::string &line)
{
	const std::clock_t begin = std::clock();
	const int code = run_line(host, line).code;
	EXPECT_TRUE(code == 0 || code == static_cast<int>(Exit::Differs)) << line << ": " << code;
	return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

} // namespace

// The names of disks begin like those of others.
TEST(RnbdadmScale, SwapIsOnTheDiskThatItNames)
{
	FakeHost host;
	host.client();
	host.device(10, "store", "/dev/ten");
	host.device(11, "store", "/dev/eleven");
	host.put("/proc/swaps", "Filename Type Size Used Priority\n"
				"/dev/rnbd10 partition 1 0 -2\n/dev/rnbd11p3 partition 1 0 -3");
	EXPECT_EQ(run_line(host, "list devices -c name,mounts -o csv --no-header").out,
		  "rnbd0,/srv/data\nrnbd1,\nrnbd10,swap\nrnbd11,swap\n");
}

// What is mounted several times is shown in the order of mountinfo.
TEST(RnbdadmScale, MountsKeepTheirOrder)
{
	FakeHost host;
	host.client();
	std::string mounts;
	for (const char *where : {"/c", "/a", "/b"})
		mounts += fmt::format("30 1 252:0 / {} rw - ext4 /dev/rnbd0 rw\n", where);
	host.put("/proc/self/mountinfo", mounts);
	EXPECT_EQ(run_line(host, "list devices -c mounts -o csv --no-header").out, "/c /a /b\n\n");
}

TEST(RnbdadmScale, SavedNamesAreUnique)
{
	FakeHost host;
	host.client();
	int number = 2;
	for (const char *path : {"/dev/a/x", "/dev/b/x", "/dev/c/x-2", "/dev/d/x", "/dev/e/x-2"})
		host.device(number++, "store", path);
	const std::string text = run_line(host, "save").out;
	for (const char *name : {"x", "x-2", "x-2-2", "x-3", "x-2-3"})
		EXPECT_NE(text.find(fmt::format("\n[device {}]\n", name)), std::string::npos)
		    << name << text;
}

// Four times as many take four times as long, and sixteen times if each looks at all others.
TEST(RnbdadmScale, WorkGrowsWithTheNumberOfDisks)
{
	FakeHost few, many;
	grow(few, 200);
	grow(many, 800);
	for (const char *line :
	     {"list", "list sessions", "list paths", "list exports", "list tree", "dump",
	      "show rnbd20", "stats", "metrics", "explain rnbd20", "doctor", "check", "diff",
	      "save", "apply --dry-run", "unmap --all --others-too --dry-run",
	      "recover --all --dry-run", "server list", "server export list"}) {
		double growth = 100;
		for (int tries = 0; tries < 3 && growth > 8; tries++)
			growth = std::min(growth, seconds_of(many, line) / seconds_of(few, line));
		EXPECT_LT(growth, 8) << line;
	}
}
