// SPDX-License-Identifier: GPL-2.0
// Keys that the kernel gets as soon as they are made.
#include "fake.hh"

#include <cerrno>

#include <sys/stat.h>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

using Names = std::vector<std::string>;

class RnbdadmKeyLoads : public testing::Test {
protected:
	RnbdadmKeyLoads() { fs::create_directories(host.place("/etc/rnbd")); }

	Outcome key(const std::string &line, int code = 0)
	{
		Outcome o = run_line(host, "key " + line);
		EXPECT_EQ(o.code, code) << line << "\n" << o.out << o.err;
		return o;
	}
	// What another machine has made.
	std::string foreign(const std::string &name)
	{
		FakeHost other;
		fs::create_directories(other.place("/etc/rnbd"));
		EXPECT_EQ(run_line(other, "key generate " + name).code, 0);
		host.put("/root/key", other.text("/etc/rnbd/keys.d/" + name + ".1"));
		chmod(host.place("/root/key").c_str(), 0600);
		return "/root/key";
	}
	Names in_kernel() const
	{
		Names names;
		for (const rnbdadm::KernelKey &k : host.ring.value())
			names.push_back(k.description);
		return names;
	}

	FakeHost host;
};

} // namespace

// A key that the running server does not know is refused to whoever comes with it.
TEST_F(RnbdadmKeyLoads, GenerateLoadsIt)
{
	Outcome o = key("generate client7");
	EXPECT_TRUE(has(o.err, "rtrs_core is not loaded: rnbdadm key load loads it")) << o.err;
	host.ring.emplace();
	host.server();
	o = key("generate client7");
	EXPECT_EQ(in_kernel(), Names{"rnbd:client7:2"});
	EXPECT_EQ(host.secrets["rnbd:client7:2"].size(), 32u);
	EXPECT_TRUE(has(o.out, "\nloaded into the kernel, where it counts from now on\n")) << o.out;
	EXPECT_EQ(o.err, "");
	o = key("generate other -o json");
	EXPECT_EQ(nlohmann::json::parse(o.out)["key"]["in_kernel"], true);
	EXPECT_EQ(in_kernel().size(), 2u);
	o = key("generate third --dry-run");
	EXPECT_TRUE(has(o.out, "add key third:1 to the kernel's keyring")) << o.out;
	EXPECT_EQ(in_kernel().size(), 2u);
	const std::string from = foreign("vm");
	o = key("add " + from);
	EXPECT_TRUE(has(o.out, "\nloaded into the kernel, where it counts from now on\n")) << o.out;
	o = key("rotate vm");
	EXPECT_TRUE(has(o.out, "\nloaded into the kernel")) << o.out;
	host.key_error = EDQUOT;
	o = key("generate full", 1);
	EXPECT_TRUE(has(o.err, "the kernel does not take key full:1")) << o.err;
}

// A client proves itself by its newest key, which the server has to know before.
TEST_F(RnbdadmKeyLoads, GenerateOnAClient)
{
	host.client();
	host.ring.emplace();
	key("generate client7");
	EXPECT_EQ(in_kernel(), Names{"rnbd:client7:1"});
	Outcome o = key("generate client7");
	EXPECT_EQ(in_kernel(), Names{"rnbd:client7:1"});
	EXPECT_TRUE(has(o.err, "not loaded into the kernel: this machine is a client")) << o.err;
	EXPECT_TRUE(has(o.err, "rnbdadm key load")) << o.err;
}
