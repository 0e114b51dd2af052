// SPDX-License-Identifier: GPL-2.0
// Grammar of addresses and paths (protocol A.2).
#include <rtrs/pure/address.hh>

using namespace rtrs;

namespace {
constexpr int kInval = -22;
constexpr int kNoProtocol = -93;

std::string show(const AddressText &a)
{
	const char *kinds[] = {"4:", "6:", "g:"};
	return kinds[static_cast<int>(a.kind)] + str(a.literal);
}

// What was understood, or the errno.
std::string address(std::string_view input)
{
	Result<AddressText> r = parse_address(text(input));
	return r.ok() ? show(r.value()) : std::to_string(r.code());
}

std::string path(std::string_view input)
{
	Result<PathText> r = parse_path(text(input));
	if (!r.ok())
		return std::to_string(r.code());
	return (r->has_source ? show(r->source) + " " : std::string()) + show(r->destination);
}
} // namespace

TEST(Address, Kinds)
{
	EXPECT_EQ(address("ip:10.0.0.1"), "4:10.0.0.1");
	EXPECT_EQ(address("ip:255.255.255.255"), "4:255.255.255.255");
	EXPECT_EQ(address("ip:1.1.1.1"), "4:1.1.1.1");
	EXPECT_EQ(address("ip:09af::AF90"), "6:09af::AF90");
	EXPECT_EQ(address("ip:fe80::1%!~"), "6:fe80::1%!~");
	EXPECT_EQ(address("ip:fe80::1"), "6:fe80::1");
	EXPECT_EQ(address("ip:fe80::1%eth0"), "6:fe80::1%eth0");
	EXPECT_EQ(address("ip:::"), "6:::");
	EXPECT_EQ(address("ip:::ffff:10.0.0.1"), "6:::ffff:10.0.0.1");
	EXPECT_EQ(address("gid:fe80:0000:0000:0000:0002:c903:0000:0001"),
		  "g:fe80:0000:0000:0000:0002:c903:0000:0001");
	EXPECT_EQ(address("gid:FE80::1"), "g:FE80::1");
}

TEST(Address, Prefixes)
{
	for (const char *bad : {"", "10.0.0.1", "IP:10.0.0.1", "Gid:fe80::1", "ip", "ip10.0.0.1",
				"ipv4:10.0.0.1", " ip:10.0.0.1", "gid", "fe80::1", "ib:1"})
		EXPECT_EQ(address(bad), std::to_string(kNoProtocol)) << bad;
}

TEST(Address, Literals)
{
	for (const char *bad :
	     {"ip:", "gid:", "ip:host", "ip:10.0.0", "ip:1.1.1", "ip:10.0.0.1 ", "ip:10.0.0.1\n",
	      "ip:10.0.0.1/24", "ip:1234.1234.1234.12", "ip:fe80::1%", "ip:fe80::1%a/b",
	      "ip:fe80::1%a b", "ip:%eth0", "ip::", "gid:10.0.0.1", "gid:fe80::1%eth0",
	      "gid:fg80::1", "ip:fe80::g", "ip:fe80::1%abcdefghijklmnop"})
		EXPECT_EQ(address(bad), std::to_string(kInval)) << bad;
	EXPECT_EQ(address("ip:fe80::1%abcdefghijklmno"), "6:fe80::1%abcdefghijklmno");
}

TEST(Address, Lengths)
{
	const std::string longest = "0000:0000:0000:0000:0000:ffff:255.255.255.255"; // 45
	EXPECT_EQ(longest.size(), kMaxIp6Literal);
	EXPECT_EQ(address("ip:" + longest), "6:" + longest);
	EXPECT_EQ(address("ip:0" + longest), std::to_string(kInval));
	const std::string end = "ip:" + longest + "%abcdefghijklmno";
	EXPECT_EQ(end.size(), kMaxAddressText);
	EXPECT_EQ((end + "@" + end).size(), kMaxPathText);
}

TEST(Path, WithAndWithoutSource)
{
	EXPECT_EQ(path("ip:10.0.0.2"), "4:10.0.0.2");
	EXPECT_EQ(path("ip:10.0.0.1@ip:10.0.0.2"), "4:10.0.0.1 4:10.0.0.2");
	EXPECT_EQ(path("ip:10.0.0.1,ip:10.0.0.2"), "4:10.0.0.1 4:10.0.0.2");
	EXPECT_EQ(path("gid:fe80::1@gid:fe80::2"), "g:fe80::1 g:fe80::2");
	EXPECT_EQ(path("ip:fe80::1%eth0@ip:fe80::2"), "6:fe80::1%eth0 6:fe80::2");
}

TEST(Path, CommaSeparatesFirst)
{
	// The scope may hold an '@' if a comma separates.
	EXPECT_EQ(path("ip:fe80::1%a@b,ip:fe80::2"), "6:fe80::1%a@b 6:fe80::2");
	EXPECT_EQ(path("ip:10.0.0.1@ip:10.0.0.2,ip:10.0.0.3"), std::to_string(kInval));
	EXPECT_EQ(path("ip:10.0.0.1,ip:10.0.0.2,ip:10.0.0.3"), std::to_string(kInval));
}

TEST(Path, EmptyEnds)
{
	EXPECT_EQ(path(""), std::to_string(kNoProtocol));
	EXPECT_EQ(path("@"), std::to_string(kNoProtocol));
	EXPECT_EQ(path(",ip:10.0.0.1"), std::to_string(kNoProtocol));
	EXPECT_EQ(path("ip:10.0.0.1,"), std::to_string(kNoProtocol));
	EXPECT_EQ(path("ip:10.0.0.1@10.0.0.2"), std::to_string(kNoProtocol));
	EXPECT_EQ(path("ip:10.0.0.x@ip:10.0.0.2"), std::to_string(kInval));
}

TEST(ServiceId, PortSpaces)
{
	EXPECT_EQ(service_id(AddressKind::Ip4, 1234), 0x10604d2u);
	EXPECT_EQ(service_id(AddressKind::Ip6, 1234), 0x10604d2u);
	EXPECT_EQ(service_id(AddressKind::Gid, 1234), 0x13f04d2u);
	// Ports are unsigned.
	EXPECT_EQ(service_id(AddressKind::Gid, 65535), 0x13fffffu);
	EXPECT_EQ(service_id(AddressKind::Gid, 32768), 0x13f8000u);
}
