// SPDX-License-Identifier: GPL-2.0
// Who may open an export.
#include <rnbd/pure/export_rules.hh>

using namespace rnbd;

namespace {
bool allowed(const std::string &list, const std::string &name)
{
	return session_allowed(text(list), text(name));
}
} // namespace

TEST(ExportRules, Access)
{
	const AccessMode ro = AccessMode::ReadOnly, rw = AccessMode::ReadWrite,
			 migration = AccessMode::Migration, shared = AccessMode::Shared;
	const struct {
		AccessMode most;
		bool may[4]; // ro, rw, migration, shared
	} cases[] = {{ro, {true, false, false, false}},
		     {rw, {true, true, false, false}},
		     {migration, {true, true, true, false}},
		     {shared, {true, true, true, true}}};
	for (const auto &c : cases) {
		EXPECT_EQ(access_allowed(c.most, ro), c.may[0]);
		EXPECT_EQ(access_allowed(c.most, rw), c.may[1]);
		EXPECT_EQ(access_allowed(c.most, migration), c.may[2]);
		EXPECT_EQ(access_allowed(c.most, shared), c.may[3]);
	}
}

// What no administrator has said of the device, nobody may ask for.
TEST(ExportRules, AccessWithoutAnExport)
{
	EXPECT_TRUE(access_allowed(kMostWithoutExport, AccessMode::ReadOnly));
	EXPECT_TRUE(access_allowed(kMostWithoutExport, AccessMode::ReadWrite));
	EXPECT_TRUE(access_allowed(kMostWithoutExport, AccessMode::Migration));
	EXPECT_FALSE(access_allowed(kMostWithoutExport, AccessMode::Shared));
}

TEST(ExportRules, Keys)
{
	const auto allowed_key = [](const char *list, const char *key) {
		return key_allowed(TextView::of(list), TextView::of(key));
	};
	EXPECT_TRUE(allowed_key("", ""));
	EXPECT_TRUE(allowed_key(" ", "a"));
	EXPECT_TRUE(allowed_key("b a", "a"));
	EXPECT_TRUE(allowed_key("a*", "ab"));
	EXPECT_FALSE(allowed_key("b", "a"));
	// Who has proven nothing is nobody, whatever the list says.
	EXPECT_FALSE(allowed_key("a", ""));
	EXPECT_FALSE(allowed_key("*", ""));
}

TEST(ExportRules, Sessions)
{
	EXPECT_TRUE(allowed("", "a"));
	EXPECT_TRUE(allowed(" \n\t", "a"));
	EXPECT_TRUE(allowed("a", "a"));
	EXPECT_TRUE(allowed("x y\na\tz", "a"));
	EXPECT_TRUE(allowed("x a", "a"));
	EXPECT_FALSE(allowed("b", "a"));
	EXPECT_FALSE(allowed("ab", "a"));
	EXPECT_FALSE(allowed("a", "ab"));
	EXPECT_TRUE(allowed("x web-*", "web-1"));
	EXPECT_TRUE(allowed("web-*", "web-"));
	EXPECT_FALSE(allowed("web-*", "web"));
	EXPECT_TRUE(allowed("*", "anything"));
	EXPECT_FALSE(allowed("w*b", "web"));
}

TEST(ExportRules, Addresses)
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

TEST(ExportRules, AddressText)
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
