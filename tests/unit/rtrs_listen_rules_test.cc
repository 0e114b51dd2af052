// SPDX-License-Identifier: GPL-2.0
// Where a server takes connections.
#include <rtrs/pure/listen_rules.hh>

using namespace rtrs;

namespace {

// The last number of 192.0.2.x, or of it and all behind it; as the kernel's parser would have it.
Result<AddressRule> to_rule(TextView word)
{
	const Result<AddressRuleText> parts = split_address_rule(word);
	if (!parts.ok())
		return parts.error();
	const Result<int> last = cxxrt::parse_int(parts->address, 0, 255);
	if (!last.ok())
		return err::einval;
	return AddressRule{HostAddress::from_ipv4({192, 0, 2, static_cast<u8>(last.value())}),
			   parts->has_bits ? kIpv4Offset + parts->bits : kAddressBits};
}

Status parse(ListenRules &rules, const std::string &list)
{
	return rules.parse(text(list), to_rule);
}

bool serves(const std::string &list, u8 last, const std::string &hca)
{
	ListenRules rules;
	EXPECT_TRUE(parse(rules, list).ok()) << list;
	return rules.serves(HostAddress::from_ipv4({192, 0, 2, last}), text(hca));
}

} // namespace

TEST(ListenRules, EverywhereWithoutAWord)
{
	EXPECT_TRUE(ListenRules().serves(HostAddress::from_ipv4({192, 0, 2, 1}), "rxe0"));
	for (const char *none : {"", "\n", " , ,", ","})
		EXPECT_TRUE(serves(none, 1, "rxe0")) << none;
}

TEST(ListenRules, WhatAWordNamesAndNothingElse)
{
	EXPECT_TRUE(serves("1", 1, "rxe0"));
	EXPECT_FALSE(serves("1", 2, "rxe0"));
	EXPECT_TRUE(serves("0/25", 2, "rxe0"));
	EXPECT_FALSE(serves("0/25", 200, "rxe0"));
	EXPECT_TRUE(serves("hca:rxe0", 2, "rxe0"));
	for (const char *other : {"rxe", "rxe01", "rxe1", ""})
		EXPECT_FALSE(serves("hca:rxe0", 2, other)) << other;
	for (const char *list : {"1,hca:rxe1", "1 hca:rxe1\n", "hca:rxe1,,1", " 1\thca:rxe1"}) {
		EXPECT_TRUE(serves(list, 1, "rxe0")) << list;
		EXPECT_TRUE(serves(list, 2, "rxe1")) << list;
		EXPECT_FALSE(serves(list, 2, "rxe0")) << list;
	}
}

TEST(ListenRules, BadWords)
{
	ListenRules rules;
	const std::string name(kMaxHcaName, 'n');
	for (const std::string &bad :
	     {std::string("x"), std::string("1,x"), std::string("x,1"), std::string("hca:"),
	      std::string("1/129"), std::string("hca"), std::string("256"), "hca:" + name + "n"})
		EXPECT_EQ(code(parse(rules, bad)), -22) << bad;
	EXPECT_TRUE(serves("hca:" + name, 1, name));
}

TEST(ListenRules, AsManyAsThereIsRoomFor)
{
	ListenRules rules;
	std::string list;
	for (u32 i = 0; i < kMaxListenRules; i++)
		list += std::to_string(i) + ",";
	EXPECT_TRUE(parse(rules, list).ok());
	EXPECT_TRUE(rules.serves(HostAddress::from_ipv4({192, 0, 2, 15}), "a"));
	EXPECT_EQ(code(parse(rules, list + "16")), -22);
	EXPECT_TRUE(parse(rules, "1" + std::string(kMaxListenText - 1, ' ')).ok());
	EXPECT_EQ(code(parse(rules, "1" + std::string(kMaxListenText, ' '))), -22);
	// What was there before is not there any more.
	EXPECT_TRUE(parse(rules, "1").ok());
	EXPECT_FALSE(rules.serves(HostAddress::from_ipv4({192, 0, 2, 15}), "a"));
}
