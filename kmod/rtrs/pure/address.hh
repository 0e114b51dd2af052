// SPDX-License-Identifier: GPL-2.0
// Grammar of addresses and paths as administrators write them (protocol A.2). Pure.
//
//	path    = [source (',' | '@')] destination
//	address = "ip:" IPv4 | "ip:" IPv6 ['%' scope] | "gid:" GID
//
// Literals come back as text of legal length and characters; the kernel's own parsers turn them
// into numbers.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

enum class AddressKind : u8 {
	Ip4,
	Ip6,
	Gid,
};

struct AddressText {
	AddressKind kind = AddressKind::Ip4;
	TextView literal; // without prefix; of IPv6 including the scope
};

struct PathText {
	bool has_source = false;
	AddressText source; // only if has_source
	AddressText destination;
};

// Longest literals, without terminator.
constexpr usize kMaxIp4Literal = 15;
constexpr usize kMaxIp6Literal = 45; // with an embedded IPv4 address
constexpr usize kMaxScope = 15;	     // an interface name
// Longest text of an address ("ip:" IPv6 '%' scope) and of "source@destination".
constexpr usize kMaxAddressText = 3 + kMaxIp6Literal + 1 + kMaxScope;
constexpr usize kMaxPathText = 2 * kMaxAddressText + 1;

namespace detail {
constexpr bool is_decimal(char c)
{
	return c >= '0' && c <= '9';
}

constexpr bool is_hex(char c)
{
	return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr bool is_ip4_literal(TextView t)
{
	if (t.size() < 7 || t.size() > kMaxIp4Literal)
		return false;
	for (usize i = 0; i < t.size(); i++)
		if (!is_decimal(t[i]) && t[i] != '.')
			return false;
	return true;
}

constexpr bool is_ip6_literal(TextView t, bool scope_allowed)
{
	usize percent = t.find('%');
	if (percent != t.size()) {
		TextView scope = t.skip(percent + 1);
		if (!scope_allowed || scope.empty() || scope.size() > kMaxScope)
			return false;
		for (usize i = 0; i < scope.size(); i++)
			if (scope[i] <= ' ' || scope[i] > '~' || scope[i] == '/')
				return false;
	}
	TextView number = t.first(percent);
	if (number.size() < 2 || number.size() > kMaxIp6Literal ||
	    number.find(':') == number.size())
		return false;
	for (usize i = 0; i < number.size(); i++)
		if (!is_hex(number[i]) && number[i] != ':' && number[i] != '.')
			return false;
	return true;
}
} // namespace detail

// EPROTONOSUPPORT for another prefix (they are case-sensitive), EINVAL for text that can be no
// literal of that kind.
constexpr Result<AddressText> parse_address(TextView t)
{
	if (t.starts_with("ip:")) {
		TextView literal = t.skip(3);
		if (detail::is_ip4_literal(literal))
			return AddressText{AddressKind::Ip4, literal};
		if (detail::is_ip6_literal(literal, true))
			return AddressText{AddressKind::Ip6, literal};
		return err::einval;
	}
	if (t.starts_with("gid:")) {
		TextView literal = t.skip(4);
		if (detail::is_ip6_literal(literal, false))
			return AddressText{AddressKind::Gid, literal};
		return err::einval;
	}
	return err::eprotonosupport;
}

// A comma separates before an '@' does. Errors as parse_address, for either end.
constexpr Result<PathText> parse_path(TextView t)
{
	usize separator = t.find(',');
	if (separator == t.size())
		separator = t.find('@');

	PathText path;
	path.has_source = separator != t.size();
	if (path.has_source) {
		Result<AddressText> source = parse_address(t.first(separator));
		if (!source.ok())
			return source.error();
		path.source = source.value();
		t = t.skip(separator + 1);
	}
	Result<AddressText> destination = parse_address(t);
	if (!destination.ok())
		return destination.error();
	path.destination = destination.value();
	return path;
}

// Service ids of the connection manager for a port (protocol A.2).
constexpr u64 service_id(AddressKind destination, u16 port)
{
	u64 space = destination == AddressKind::Gid ? 0x013f : 0x0106;
	return space << 16 | port;
}

} // namespace rtrs
