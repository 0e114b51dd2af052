// SPDX-License-Identifier: GPL-2.0
// Who may open an export, and how (the files below /sys/kernel/config/rnbd/exports/<name>). Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rnbd/pure/access.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// `access` is the most that a client may ask for: shared also allows migration, each of the two rw,
// and all ro.
constexpr bool access_allowed(AccessMode most, AccessMode want)
{
	return static_cast<u8>(want) <= static_cast<u8>(most);
}

// Of a device that is opened by its path. That a disk is for several writers an administrator says.
constexpr AccessMode kMostWithoutExport = AccessMode::Migration;

// Names that a word of the list stands for. An empty list allows all.
constexpr bool session_allowed(TextView list, TextView session)
{
	return cxxrt::no_words(list) || cxxrt::any_word_stands_for(list, session);
}

// The same for keys: a list that has any is for those only who have proven one of them.
constexpr bool key_allowed(TextView list, TextView key)
{
	return cxxrt::no_words(list) || (!key.empty() && cxxrt::any_word_stands_for(list, key));
}

// An IPv6 address or a GID; IPv4 as ::ffff:a.b.c.d, as they are the same host.
struct HostAddress {
	u8 bytes[16];

	constexpr bool operator==(const HostAddress &) const = default;
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

} // namespace rnbd
