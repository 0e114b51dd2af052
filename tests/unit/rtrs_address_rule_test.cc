// SPDX-License-Identifier: GPL-2.0
// Rules of addresses.
#include <rtrs/pure/address_rule.hh>

using namespace rtrs;

TEST(AddressRule, Matches)
{
	const HostAddress host = HostAddress::from_ipv4({192, 0, 2, 77});
	auto rule = [](const u8(&v4)[4], u32 bits) {
		return AddressRule{HostAddress::from_ipv4(v4), kIpv4Offset + bits};
	};
	EXPECT_TRUE(rule({192, 0, 2, 77}, 32).matches(host));
	EXPECT_FALSE(rule({192, 0, 2, 76}, 32).matches(host));
	EXPECT_TRUE(rule({192, 0, 2, 76}, 31).matches(host));
	EXPECT_TRUE(rule({192, 0, 2, 0}, 24).matches(host));
	EXPECT_FALSE(rule({192, 0, 3, 0}, 24).matches(host));
	EXPECT_TRUE(rule({10, 0, 0, 0}, 0).matches(host));
	const HostAddress v6{{0xfd, 0, 0, 0x10}};
	EXPECT_FALSE(rule({10, 0, 0, 0}, 0).matches(v6)) << "an IPv4 rule for an IPv6 host";
	EXPECT_TRUE((AddressRule{v6, 128}).matches(v6));
	EXPECT_TRUE((AddressRule{{{0xfc}}, 7}).matches(v6));
	EXPECT_FALSE((AddressRule{{{0xfc}}, 8}).matches(v6));
	EXPECT_TRUE((AddressRule{{}, 0}).matches(v6));
}

TEST(AddressRule, Text)
{
	const struct {
		std::string word, address;
		bool has_bits;
		u32 bits;
	} good[] = {{"192.0.2.1", "192.0.2.1", false, 0},
		    {"ip:192.0.2.0/24", "192.0.2.0", true, 24},
		    {"fd00::/8", "fd00::", true, 8},
		    {"gid:fe80::1", "fe80::1", false, 0},
		    {"::/0", "::", true, 0}};
	for (const auto &c : good) {
		Result<AddressRuleText> r = split_address_rule(text(c.word));
		ASSERT_TRUE(r.ok()) << c.word;
		EXPECT_EQ(str(r->address), c.address);
		EXPECT_EQ(r->has_bits, c.has_bits);
		EXPECT_EQ(r->bits, c.bits);
	}
	for (const char *bad : {"", "ip:", "/24", "::/129", "::/-1", "::/x", "::/", "1.2.3.4/24/8"})
		EXPECT_EQ(code(split_address_rule(text(bad))), -22) << bad;
}
