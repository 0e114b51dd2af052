// SPDX-License-Identifier: GPL-2.0
// Rules of addresses: one, or all that begin alike. Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// An IPv6 address or a GID; IPv4 as ::ffff:a.b.c.d, as they are the same host.
struct HostAddress {
	u8 bytes[16];

	constexpr bool operator==(const HostAddress &) const = default;
	static constexpr HostAddress of(const u8 (&raw)[16])
	{
		HostAddress host{};
		for (usize i = 0; i < sizeof(raw); i++)
			host.bytes[i] = raw[i];
		return host;
	}
	static constexpr HostAddress from_ipv4(const u8 (&v4)[4])
	{
		return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, v4[0], v4[1], v4[2], v4[3]}};
	}
};
constexpr u32 kAddressBits = 128;
constexpr u32 kIpv4Offset = 96; // bits before the IPv4 part

struct AddressRule {
	HostAddress address;
	u32 bits; // that have to agree, 0 to kAddressBits

	constexpr bool matches(const HostAddress &host) const
	{
		for (u32 bit = 0; bit < bits; bit++) {
			const u32 shift = 7 - bit % 8;
			if ((address.bytes[bit / 8] ^ host.bytes[bit / 8]) >> shift & 1)
				return false;
		}
		return true;
	}
};

// "<address>" or "<address>/<bits>", with "ip:" or "gid:" before it or not.
struct AddressRuleText {
	TextView address;
	bool has_bits;
	u32 bits; // as written: of the address's own family
};

// EINVAL.
constexpr Result<AddressRuleText> split_address_rule(TextView word)
{
	constexpr TextView kPrefixes[] = {"ip:", "gid:"};
	for (TextView prefix : kPrefixes)
		if (word.starts_with(prefix)) {
			word = word.skip(prefix.size());
			break;
		}
	const usize slash = word.find('/');
	AddressRuleText rule{word.first(slash), slash < word.size(), 0};
	if (rule.address.empty())
		return err::einval;
	if (rule.has_bits) {
		Result<int> bits = cxxrt::parse_int(word.skip(slash + 1), 0, kAddressBits);
		if (!bits.ok())
			return err::einval;
		rule.bits = static_cast<u32>(bits.value());
	}
	return rule;
}

} // namespace rtrs
