// SPDX-License-Identifier: GPL-2.0
// What an initramfs gets, and what units leave to it.
#include "fake.hh"

#include "config.hh"
#include "key_files.hh"

#include <sys/stat.h>

namespace {

const std::string kSessions = R"([session other]
path = 10.0.0.9
key = other
[session vm]
path = 10.0.0.2@10.0.0.1
port = 1235
key = vm
auth = required
policy = round-robin
soft-roce = eth0
[device later]
session = other
device = later
[export data]
device = /dev/sdb
)";
const std::string kRoot = R"([device root]
session = vm
device = data
no-path-timeout = -1
initramfs = yes
)";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmInitramfs : public testing::Test {
protected:
	RnbdadmInitramfs()
	{
		fs::create_directories(host.place("/etc/rnbd"));
		for (const char *name : {"vm", "vm", "other"})
			EXPECT_EQ(run_line(host, std::string("key generate ") + name).code, 0);
	}
	Outcome generate(const std::string &text)
	{
		host.put(rnbdadm::kConfigFile, text);
		host.drop("/image");
		return run_line(host, "generate initramfs /image");
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmInitramfs, NothingUnasked)
{
	// Nor is it a failure that something else is wrong.
	for (const char *more : {"", "[device root]\nsession = vm\ninitramfs = no\n",
				 "[device x]\nsesion = vm\n", "nonsense\n"}) {
		Outcome o = generate(kSessions + more);
		EXPECT_EQ(o.code, 0) << o.err;
		EXPECT_EQ(o.out, "");
		EXPECT_FALSE(host.exists("/image"));
	}
}

TEST_F(RnbdadmInitramfs, OnlyWhatIsAsked)
{
	Outcome o = generate(kSessions + kRoot);
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "root\n");
	EXPECT_EQ(host.list("/image/etc/rnbd/keys.d"), std::vector<std::string>{"vm.2"});
	EXPECT_EQ(host.text("/image/etc/rnbd/keys.d/vm.2"), host.text("/etc/rnbd/keys.d/vm.2"));
	struct stat s = {};
	ASSERT_EQ(stat(host.place("/image/etc/rnbd/keys.d/vm.2").c_str(), &s), 0);
	EXPECT_EQ(s.st_mode & 07777, 0600u);
	EXPECT_TRUE(host.kept_secrets);
	// It says the same of that device, and nothing of others.
	const rnbdadm::Config all = rnbdadm::read_config(host);
	const rnbdadm::Config some = rnbdadm::read_config(host, {"/image" + rnbdadm::kConfigFile});
	EXPECT_EQ(some.mistakes.size(), 0u);
	EXPECT_TRUE(some.exports.empty());
	ASSERT_EQ(some.devices.size(), 1u);
	ASSERT_EQ(some.sessions.size(), 1u);
	EXPECT_TRUE(some.in_initramfs("root"));
	const auto &wanted = all.device("root")->request, &found = some.devices[0].request;
	EXPECT_EQ(found.session, wanted.session);
	EXPECT_EQ(found.device_path, wanted.device_path);
	EXPECT_EQ(found.access, wanted.access);
	EXPECT_EQ(found.port, wanted.port);
	EXPECT_EQ(found.paths, wanted.paths);
	EXPECT_EQ(found.poll_queues, wanted.poll_queues);
	EXPECT_EQ(found.no_path_timeout, wanted.no_path_timeout);
	EXPECT_EQ(found.auth, wanted.auth);
	EXPECT_EQ(found.key, wanted.key);
	EXPECT_EQ(some.sessions[0].settings, all.session("vm")->settings);
	EXPECT_EQ(some.sessions[0].soft_roce, std::vector<std::string>{"eth0"});
}

TEST_F(RnbdadmInitramfs, WhatCannotWorkIsRefused)
{
	for (const auto &[text, words] : std::vector<std::pair<std::string, std::string>>{
		 {kSessions + kRoot + "acces = ro\n", "rnbd.conf:21: a device has no key 'acces'"},
		 {kSessions + "[device root]\nsession = vm\ndevice = data\ninitramfs = yse\n",
		  "initramfs 'yse' is not yes or no"},
		 {"[session vm]\npath = 10.0.0.1\nkey = lost\n" + kRoot,
		  "session vm has key lost, which is not in /etc/rnbd/keys.d"},
		 {"[session vm]\npath = 1.2\n" + kRoot, "its session vm has a mistake"},
		 {"[session vm]\npath = 10.0.0.1\nsoft-roce = ../x\n" + kRoot,
		  "its session vm has a mistake"}}) {
		Outcome o = generate(text);
		EXPECT_EQ(o.code, 11) << text << o.err;
		EXPECT_TRUE(has(o.err, words)) << o.err;
		EXPECT_FALSE(host.exists("/image"));
	}
	// Others could have read it.
	chmod(host.place("/etc/rnbd/keys.d/vm.2").c_str(), 0640);
	Outcome o = generate(kSessions + kRoot);
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.err, "vm.2: others than its owner may use it (mode 0640)")) << o.err;
	EXPECT_FALSE(host.exists("/image"));
}

TEST_F(RnbdadmInitramfs, UnitsLeaveItsDevicesAlone)
{
	host.put(rnbdadm::kConfigFile, kSessions + kRoot);
	host.client();
	host.device(7, "vm", "data");
	host.put("/run/rnbd/devices/rnbd7", "root");
	const std::size_t before = host.writes.size();
	EXPECT_EQ(run_line(host, "unmap --if-mapped --spare-initramfs -- root").code, 0);
	EXPECT_EQ(host.writes.size(), before);
	// Who wants it gone says so.
	EXPECT_EQ(run_line(host, "unmap --if-mapped data").code, 0);
	EXPECT_GT(host.writes.size(), before);
}

TEST_F(RnbdadmInitramfs, PathsWhoseNetworkComesLater)
{
	host.client();
	auto apply = [&](const std::string &paths, const std::string &options) {
		host.put(rnbdadm::kConfigFile,
			 "[session new]\n" + paths + "[device x]\nsession = new\ndevice = x\n");
		return run_line(host, "apply x --dry-run" + options).out;
	};
	const std::string two = "path = 10.0.0.2@10.0.0.1\npath = 10.9.9.2@10.9.9.1\n";
	EXPECT_TRUE(has(apply(two, ""), "path=ip:10.9.9.2@ip:10.9.9.1"));
	const std::string out = apply(two, " --present-paths");
	EXPECT_TRUE(has(out, "path=ip:10.0.0.2@ip:10.0.0.1")) << out;
	EXPECT_FALSE(has(out, "10.9.9")) << out;
	// What has no source is left to routing; and without any the kernel says why.
	EXPECT_TRUE(has(apply("path = 10.9.9.1\n", " --present-paths"), "path=ip:10.9.9.1"));
	EXPECT_TRUE(has(apply("path = 10.9.9.2@10.9.9.1\n", " --present-paths"), "10.9.9.2@"));
}

TEST_F(RnbdadmInitramfs, ANewKeyHasToGoThere)
{
	host.put(rnbdadm::kConfigFile, kSessions + kRoot);
	FakeHost server;
	fs::create_directories(server.place("/etc/rnbd"));
	EXPECT_EQ(run_line(server, "key generate vm --generation 3").code, 0);
	host.put("/root/vm.3", server.text("/etc/rnbd/keys.d/vm.3"));
	chmod(host.place("/root/vm.3").c_str(), 0600);
	Outcome o = run_line(host, "key add /root/vm.3");
	EXPECT_EQ(o.code, 0);
	EXPECT_TRUE(has(o.err, "the initramfs maps root with this key")) << o.err;
	EXPECT_TRUE(has(o.err, "update-initramfs -u")) << o.err;
}
