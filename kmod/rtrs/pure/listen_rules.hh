// SPDX-License-Identifier: GPL-2.0
// Where a server takes connections: the words of rtrs_server's parameter `listen`, between commas
// or blanks. Pure.
//
//	word = address rule (address_rule.hh) | "hca:" name of an RDMA device
//
// Without a word it is everywhere.
#pragma once

#include <rtrs/pure/address_rule.hh>

namespace rtrs {

constexpr u32 kMaxListenRules = 16;
constexpr usize kMaxListenText = 511;
constexpr usize kMaxHcaName = 63;

class ListenRules {
public:
	// `to_rule`: Result<AddressRule>(TextView word). EINVAL for a word that is none, for too
	// many of them, and for a text that is too long; what is here then is of no use.
	template <class F> constexpr Status parse(TextView text, F &&to_rule)
	{
		count_ = 0;
		if (text.size() > kMaxListenText)
			return err::einval;
		const bool bad = cxxrt::any_word(text, [&](TextView words) {
			for (;;) {
				const usize comma = words.find(',');
				const TextView word = words.first(comma);
				if (!word.empty() && !add(word, to_rule).ok())
					return true;
				if (comma == words.size())
					return false;
				words = words.skip(comma + 1);
			}
		});
		return bad ? Status(err::einval) : Status();
	}

	// `address` is the server's own, by which a connection comes to the device `hca`.
	constexpr bool serves(const HostAddress &address, TextView hca) const
	{
		for (u32 i = 0; i < count_; i++) {
			const Rule &rule = rules_[i];
			if (rule.hca_size ? TextView(rule.hca, rule.hca_size) == hca
					  : rule.address.matches(address))
				return true;
		}
		return !count_;
	}

private:
	struct Rule {
		AddressRule address;
		usize hca_size; // 0: the address counts
		char hca[kMaxHcaName];
	};

	template <class F> constexpr Status add(TextView word, F &&to_rule)
	{
		if (count_ == kMaxListenRules)
			return err::einval;
		Rule rule{};
		constexpr TextView kHca = "hca:";
		if (word.starts_with(kHca)) {
			const TextView name = word.skip(kHca.size());
			if (name.empty() || name.size() > kMaxHcaName)
				return err::einval;
			rule.hca_size = name.size();
			for (usize i = 0; i < name.size(); i++)
				rule.hca[i] = name[i];
		} else {
			const Result<AddressRule> address = to_rule(word);
			if (!address.ok())
				return address.error();
			rule.address = address.value();
		}
		rules_[count_++] = rule;
		return {};
	}

	Rule rules_[kMaxListenRules] = {};
	u32 count_ = 0;
};

} // namespace rtrs
