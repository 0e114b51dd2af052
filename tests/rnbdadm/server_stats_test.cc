// SPDX-License-Identifier: GPL-2.0
// How much each client asks of each disk of this server.
#include "fake.hh"

#include "text.hh"

namespace {

const std::string kDevices = "/sys/class/rnbd-server/ctl/devices/";
const char *const kRates = "server stats --no-header -o csv --count 1 -i 2 ";

} // namespace

TEST(RnbdadmServerStats, NamedByDeviceNameOfTheClientOrSession)
{
	FakeHost host;
	host.server();
	auto rows = [&](const std::string &words) {
		Outcome o =
		    run_line(host, "server stats --no-header -o csv -c device,session " + words);
		EXPECT_EQ(o.code, 0) << o.err;
		return o.out;
	};
	EXPECT_EQ(rows(""), "mapper/vm,alpha\nnvme0n1,alpha\nnvme0n1,beta\n");
	EXPECT_EQ(rows("/dev/nvme0n1"), "nvme0n1,alpha\nnvme0n1,beta\n");
	EXPECT_EQ(rows("mapper/vm beta"), "mapper/vm,alpha\nnvme0n1,beta\n");
	Outcome o = run_line(host, "server stats nvme0n1 bata");
	EXPECT_EQ(o.code, 3);
	EXPECT_NE(o.err.find("beta"), std::string::npos) << o.err;
}

TEST(RnbdadmServerStats, RatesOfWhatIsThereBeforeAndAfter)
{
	FakeHost host;
	host.server();
	host.on_sleep = [&] {
		host.put(kDevices + "nvme0n1/sessions/alpha/requests",
			 requests_of_a_client(500, 8, 5));
		host.drop(kDevices + "nvme0n1/sessions/beta");
		// It has opened the disk anew, so its counts began again.
		host.put(kDevices + "mapper!vm/sessions/alpha/requests",
			 requests_of_a_client(4, 0, 0));
		host.put(kDevices + "nvme0n1/sessions/gamma/requests",
			 requests_of_a_client(1, 1, 1));
	};
	EXPECT_EQ(run_line(host, kRates).out,
		  "mapper/vm,alpha,2.000,8192.000,0.000,0.000,2.000,0.000\n"
		  "nvme0n1,alpha,100.000,409600.000,4.000,32768.000,0.000,3.000\n");
	FakeHost other;
	other.server();
	other.on_sleep = [&] {
		other.put(kDevices + "nvme0n1/sessions/beta/requests",
			  requests_of_a_client(302, 0, 2));
	};
	EXPECT_EQ(run_line(other, std::string(kRates) + "beta").out,
		  "nvme0n1,beta,1.000,4096.000,0.000,0.000,0.000,0.000\n");
	Outcome o = run_line(other, "server stats -w --count 2 -o json");
	EXPECT_EQ(rnbdadm::split(o.out, "\n").size(), 2u) << o.out;
	EXPECT_EQ(run_line(other, "server stats -w --count 1 -c redas").code, 2);
}

// The kernel's own module has none.
TEST(RnbdadmServerStats, WhereNothingIsCounted)
{
	FakeHost host;
	host.server();
	for (const char *which :
	     {"nvme0n1/sessions/alpha", "nvme0n1/sessions/beta", "mapper!vm/sessions/alpha"})
		host.drop(kDevices + which + "/requests");
	Outcome o = run_line(host, "server stats");
	EXPECT_EQ(o.code, 9);
	EXPECT_NE(o.err.find("the kernel's own"), std::string::npos) << o.err;
	EXPECT_EQ(run_line(host, "server list").code, 0);
	EXPECT_EQ(run_line(host, "metrics").out.find("rnbd_server_reads_total"), std::string::npos);
}
