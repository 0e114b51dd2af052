// SPDX-License-Identifier: GPL-2.0
// A module that was loaded by hand opens by its path what an export keeps behind a key: said by
// whatever makes such an export, and a problem for doctor.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

const std::string kParameters = "/sys/module/rnbd_server/parameters/";
const std::string kFolder = "/sys/kernel/config/rnbd/exports/vm1/";

class RnbdadmBypass : public testing::Test {
protected:
	RnbdadmBypass()
	{
		host.server();
		host.put(kParameters + "exports_only", "N");
		host.disks = {"/dev/sdb"};
		host.put("/dev/sdb", "");
	}
	void loaded(const std::string &exports_only, const std::string &search = "/")
	{
		host.put(kParameters + "exports_only", exports_only);
		host.put(kParameters + "dev_search_path", search);
	}
	bool is_problem() { return has(run_line(host, "doctor").out, "problem  exports: "); }

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmBypass, DoctorHasAProblem)
{
	Outcome o = run_line(host, "doctor");
	EXPECT_EQ(o.code, 12);
	EXPECT_TRUE(has(o.out,
			"problem  exports: every machine that reaches this one can use all of "
			"its block devices, not just the exports, and need not prove who it "
			"is: the rules of vm1 keep nobody out"))
	    << o.out;
	EXPECT_TRUE(has(o.out, "systemctl restart rnbd-server")) << o.out;
	for (const char *search :
	     {"/dev", "/dev/vg0/", "/dev/vg0/%SESSNAME%", "/dev/vg0/a-%SESSNAME%"}) {
		loaded("N", search);
		EXPECT_TRUE(is_problem()) << search;
	}
	EXPECT_TRUE(
	    has(run_line(host, "doctor").out, "can use all block devices below /dev/vg0, "));
	for (const char *search : {"/dev/vg", "/srv"}) {
		loaded("N", search);
		EXPECT_FALSE(is_problem()) << search;
	}
	loaded("Y");
	EXPECT_FALSE(is_problem());
	// Without an export there is no rule, and it is as the module's own default has it.
	loaded("N");
	host.drop("/sys/kernel/config/rnbd/exports/vm1");
	EXPECT_FALSE(is_problem());
	EXPECT_TRUE(has(run_line(host, "doctor").out, "note     exports: every machine"));
}

TEST_F(RnbdadmBypass, TheAdministratorsWordIsANote)
{
	host.put("/etc/modprobe.d/rnbd.conf", "# options rnbd_server exports_only=N\n"
					      "options rnbd_server exports_only=Y");
	EXPECT_TRUE(is_problem());
	host.put("/etc/modprobe.d/rnbd.conf", "options  rnbd_server port_nr=1 exports_only=N");
	EXPECT_FALSE(is_problem());
	EXPECT_TRUE(has(run_line(host, "doctor").out, "note     exports: every machine"));
	EXPECT_EQ(run_line(host, "server export add a /dev/sdb --client c").err, "");
}

TEST_F(RnbdadmBypass, WhoMakesAnExportIsTold)
{
	const std::string warning =
	    "keep nobody out: clients can open /dev/sdb by its path all the "
	    "same, as rnbd_server was loaded with exports_only=N";
	for (const char *rule : {"--key k", "--client c", "--address 10.0.0.7"}) {
		Outcome o = run_line(host, std::string("server export add a /dev/sdb ") + rule);
		EXPECT_EQ(o.code, 0);
		EXPECT_TRUE(has(o.err, "the rules of a " + warning)) << o.err;
		host.drop("/sys/kernel/config/rnbd/exports/a");
	}
	// What is for all has no rule.
	EXPECT_EQ(run_line(host, "server export add a /dev/sdb").err, "");
	EXPECT_TRUE(
	    has(run_line(host, "server export set a --key k").err, "the rules of a " + warning));
	host.drop("/sys/kernel/config/rnbd/exports/a");
	loaded("Y");
	EXPECT_EQ(run_line(host, "server export add a /dev/sdb --client c").err, "");
}
