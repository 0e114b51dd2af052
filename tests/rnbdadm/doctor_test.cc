// SPDX-License-Identifier: GPL-2.0
// doctor, about modules: their files for each kernel, DKMS, signatures.
#include "fake.hh"

namespace {

const std::string kRunning = "6.1.0-56-amd64", kNewest = "6.12.9-amd64";
const std::string kDkms = "/var/lib/dkms/rnbd/1.0.0/";
const std::string kKey = "DKMS module signing key";

class RnbdadmModules : public testing::Test {
protected:
	RnbdadmModules() { host.client(); }

	std::string doctor(int code)
	{
		Outcome o = run_line(host, "doctor");
		EXPECT_EQ(o.code, code) << o.out;
		EXPECT_EQ(o.err, "");
		return o.out;
	}
	void expect(int code, const std::string &says)
	{
		std::string out = doctor(code);
		EXPECT_NE(out.find(says), std::string::npos) << says << "\n" << out;
	}
	void newest() { fs::create_directories(host.place("/lib/modules/" + kNewest + "/kernel")); }
	void dkms()
	{
		host.put(kDkms + "source/dkms.conf",
			 "PACKAGE_NAME=\"rnbd\"\nBUILD_EXCLUSIVE_KERNEL=\"^(6[.]1|6[.]12)\\.\"");
	}
	void secure_boot()
	{
		host.put("/sys/kernel/security/lockdown", "none [integrity] confidentiality");
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmModules, OfTheRunningKernel)
{
	expect(0, "ok       modules for this kernel, 6.1.0-56-amd64: updates/dkms, version 1.0.0, "
		  "signed by DKMS module signing key");
	host.module_files.erase(kRunning + " rtrs_server");
	expect(12, "modules are missing: rtrs_server");
	host.module_files.clear();
	expect(12, "6.1.0-56-amd64: there are no modules for it\n         -> install the package "
		   "rnbd-dkms");
}

TEST_F(RnbdadmModules, OfASeriesThatIsNotTested)
{
	const std::string note = "kernels of this series are not among those that are tested";
	EXPECT_EQ(doctor(0).find(note), std::string::npos);
	host.module_files[kRunning + " rtrs_core"].kernel = "tested";
	EXPECT_EQ(doctor(0).find(note), std::string::npos);
	host.module_files[kRunning + " rtrs_core"].kernel = "untested";
	expect(0, "note     modules for this kernel, 6.1.0-56-amd64: " + note);
}

TEST_F(RnbdadmModules, OfTheNewestKernel)
{
	// Headers alone are no kernel.
	fs::create_directories(host.place("/lib/modules/6.13.1-amd64/build"));
	newest();
	dkms();
	const std::string problem = "problem  modules for the newest kernel, 6.12.9-amd64: ";
	expect(12, problem + "DKMS could not build rnbd 1.0.0: the kernel's headers are missing\n"
			     "         -> apt install linux-headers-6.12.9-amd64");
	host.put("/lib/modules/" + kNewest + "/build/Makefile", "");
	expect(12, problem +
		       "DKMS has not built rnbd 1.0.0\n         -> dkms install rnbd/1.0.0 -k "
		       "6.12.9-amd64");
	host.put(kDkms + "build/make.log", "error");
	expect(12, problem + "DKMS failed to build rnbd 1.0.0\n         -> see "
			     "/var/lib/dkms/rnbd/1.0.0/build/make.log");
	host.put(kDkms + kNewest + "/x86_64/module/rnbd-client.ko", "");
	expect(12, problem + "DKMS has built rnbd 1.0.0 and not installed it");
	host.modules(kNewest, "updates/dkms", kKey);
	expect(0, "ok       modules for the newest kernel, 6.12.9-amd64: updates/dkms");
	fs::create_directories(host.place("/lib/modules/6.14.0-amd64/kernel"));
	expect(12, "6.14.0-amd64: rnbd 1.0.0 is not for kernels of this series");
}

TEST_F(RnbdadmModules, ReasonsOfTheBuildAreRepeated)
{
	newest();
	dkms();
	host.put("/lib/modules/" + kNewest + "/build/Makefile", "");
	const std::string failed = "6.12.9-amd64: DKMS failed to build rnbd 1.0.0";
	const std::string reason = "cxxrt: the kernel 6.12.9-amd64 was built with clang";
	host.put(kDkms + "build/make.log",
		 "DKMS make.log for rnbd-1.0.0 for kernel 6.12.9-amd64 (x86_64)\n"
		 "cxxrt: kernel 6.12.9-amd64 is newer than 6.1\n" +
		     reason + "\n");
	expect(12, failed + ": the kernel 6.12.9-amd64 was built with clang\n         -> see ");
	host.put(kDkms + "build/make.log",
		 "DKMS make.log for rnbd-1.0.0 for kernel 6.1.0-56-amd64 (x86_64)\n" + reason);
	expect(12, failed + "\n         -> see ");
}

TEST_F(RnbdadmModules, DkmsForgetsWithTheLastKernel)
{
	newest();
	fs::create_directories(host.place("/usr/src/rnbd-1.0.0"));
	expect(12, "6.12.9-amd64: there are no modules for it");
	host.put("/usr/src/rnbd-1.0.0/dkms.conf", "PACKAGE_NAME=\"rnbd\"");
	expect(12, "6.12.9-amd64: DKMS has forgotten rnbd 1.0.0, as it does when the last kernel "
		   "that had it is removed\n         -> dkms install rnbd/1.0.0 -k 6.12.9-amd64");
	dkms();
	expect(12, "6.12.9-amd64: DKMS could not build rnbd 1.0.0: the kernel's headers are");
}

TEST_F(RnbdadmModules, OnArm64)
{
	newest();
	host.put("/lib/modules/" + kNewest + "/build/Makefile", "");
	host.put("/proc/sys/kernel/arch", "aarch64\n");
	const std::string conf = "BUILD_EXCLUSIVE_ARCH=\"^(x86_64|aarch64)$\"\n"
				 "BUILD_EXCLUSIVE_KERNEL=\"^(6[.]1|6[.]12)\\.\"\n";
	host.put(kDkms + "source/dkms.conf", conf);
	expect(12, "6.12.9-amd64: DKMS has not built rnbd 1.0.0");
	host.put(kDkms + kNewest + "/aarch64/module/rnbd-client.ko", "");
	expect(12, "6.12.9-amd64: DKMS has built rnbd 1.0.0 and not installed it");
	host.put(kDkms + "source/dkms.conf",
		 conf + "[ \"$arch\" != aarch64 ] || BUILD_EXCLUSIVE_KERNEL=\"^(6[.]1)\\.\"\n");
	expect(12, "6.12.9-amd64: rnbd 1.0.0 is not for kernels of this series");
	host.put("/proc/sys/kernel/arch", "x86_64\n");
	expect(12, "6.12.9-amd64: DKMS has built rnbd 1.0.0 and not installed it");
	host.put("/proc/sys/kernel/arch", "riscv64\n");
	expect(12, "6.12.9-amd64: DKMS does not build rnbd 1.0.0 for riscv64");
}

TEST_F(RnbdadmModules, WhoWins)
{
	host.modules(kRunning, "kernel/drivers/block/rnbd", "Debian Secure Boot CA");
	expect(0,
	       "note     modules for this kernel, 6.1.0-56-amd64: modprobe takes the kernel's own "
	       "modules: rtrs_core, rtrs_client");
	host.module_files[kRunning + " rtrs_core"].path = "updates/rtrs-core.ko";
	expect(12,
	       "modprobe takes rtrs_client, rtrs_server, rnbd_client, rnbd_server of the kernel, "
	       "and the others from updates/rtrs-core.ko");
}

TEST_F(RnbdadmModules, SecureBoot)
{
	const std::string why = "the kernel is locked down, and loads signed modules only, and ";
	secure_boot();
	expect(12, why + "does not know the key of updates/dkms/rtrs-core.ko: " + kKey +
		       "\n         -> mokutil --import /var/lib/dkms/mok.pub");
	host.put("/proc/keys", "147e2fb9 I------ 1 perm 1f030000 0 0 asymmetri " + kKey +
				   ": 0badcafe: X509.rsa 0badcafe []");
	expect(0, why + "knows " + kKey);
	host.modules(kRunning, "updates", "");
	expect(12, why + "updates/rtrs-core.ko is not signed");
	host.put("/sys/kernel/security/lockdown", "[none] integrity confidentiality");
	expect(0, "updates, version 1.0.0, not signed");
	host.put("/sys/module/module/parameters/sig_enforce", "Y");
	expect(12, "(module.sig_enforce), and updates/rtrs-core.ko is not signed");
	host.put("/sys/module/module/parameters/sig_enforce", "N");
	host.put("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
		 std::string("\6\0\0\0\1", 5));
	expect(12, "Secure Boot is on, and updates/rtrs-core.ko is not signed");
}

TEST_F(RnbdadmModules, LoadedIsAnotherThanInstalled)
{
	host.put("/sys/module/rnbd_client/srcversion", "ABC");
	doctor(0);
	host.put("/sys/module/rnbd_client/srcversion", "OLD");
	expect(0, "rnbd_client that is loaded is not the one in updates/dkms/rnbd-client.ko");
}

// What libkmod reads, of a folder as depmod leaves it.
TEST_F(RnbdadmModules, TheFileThatModprobeTakes)
{
	const std::string folder = "/lib/modules/6.1.0-1-test/";
	host.put(folder + "kernel/rnbd-client.ko", "no module");
	host.put(folder + "updates/rnbd-client.ko", "no module");
	std::string depmod = "/sbin/depmod -b '" + host.place("") + "' 6.1.0-1-test 2>/dev/null";
	ASSERT_EQ(std::system(depmod.c_str()), 0);
	auto file = host.Host::module_file("6.1.0-1-test", "rnbd_client");
	EXPECT_FALSE(host.Host::module_file("6.1.0-1-test", "rnbd_server"));
	EXPECT_FALSE(host.Host::module_file("6.1.0-1-none", "rnbd_client"));
	ASSERT_TRUE(file);
	EXPECT_EQ(file->path, "updates/rnbd-client.ko");
	EXPECT_FALSE(file->is_signed);
}
