// SPDX-License-Identifier: GPL-2.0
// Addresses between text and sockaddr (protocol A.2). The grammar is rtrs/pure/address.hh, the
// literals are the kernel's.
#include <cxxrt/kernel.hh>
#include <cxxrt/print.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/pure/address.hh>
#include <rtrs/pure/address_rule.hh>
#include <rtrs/rtrs.h>

using namespace cxxrt;

namespace rtrs {
namespace {

Status parse_gid(const char *literal, u16 port, sockaddr_storage &out)
{
	auto &ib = reinterpret_cast<sockaddr_ib &>(out);
	u8 raw[16];
	if (!in6_pton(literal, -1, raw, -1, nullptr))
		return err::einval;
	ib.sib_family = AF_IB;
	ib.sib_pkey = cpu_to_be16(0xffff);
	__builtin_memcpy(ib.sib_addr.sib_raw, raw, sizeof(raw));
	// The whole service id is matched; the port is unsigned (protocol A.2, quirk).
	ib.sib_sid = cpu_to_be64(service_id(AddressKind::Gid, port));
	ib.sib_sid_mask = cpu_to_be64(~0ULL);
	return {};
}

Status parse_literal(const AddressText &text, u16 port, sockaddr_storage &out)
{
	TextBuffer<kMaxAddressText + 1> literal;
	if (!literal.assign(text.literal))
		return err::einval;
	out = {};
	if (text.kind == AddressKind::Gid)
		return parse_gid(literal.c_str(), port, out);

	TextBuffer<8> port_text;
	port_text.print("%u", port);
	const __kernel_sa_family_t family = text.kind == AddressKind::Ip4 ? AF_INET : AF_INET6;
	if (inet_pton_with_scope(&init_net, family, literal.c_str(), port_text.c_str(), &out))
		return err::einval;
	return {};
}

Status parse_pair(TextView text, u16 port, rtrs_addr_pair &pair)
{
	const PathText path = TRY(parse_path(text));
	rtrs_addr_pair result{};
	TRY(parse_literal(path.destination, port, result.dst));
	if (path.has_source) {
		// The source's port is the connection manager's choice.
		TRY(parse_literal(path.source, 0, result.src));
		result.has_src = true;
	}
	pair = result;
	return {};
}

// The kernel's parsers end at a colon behind an IPv4 address, too.
Result<AddressRule> parse_rule(TextView word)
{
	const AddressRuleText parts = TRY(split_address_rule(word));
	const char *const text = parts.address.data();
	const int size = static_cast<int>(parts.address.size());
	const char *end = nullptr;
	u8 v4[4];
	if (in4_pton(text, size, v4, -1, &end) && end == text + size) {
		constexpr u32 kIpv4Bits = kAddressBits - kIpv4Offset;
		if (parts.has_bits && parts.bits > kIpv4Bits)
			return err::einval;
		return AddressRule{HostAddress::from_ipv4(v4),
				   kIpv4Offset + (parts.has_bits ? parts.bits : kIpv4Bits)};
	}
	AddressRule rule{{}, parts.has_bits ? parts.bits : kAddressBits};
	if (!in6_pton(text, size, rule.address.bytes, -1, &end) || end != text + size)
		return err::einval;
	return rule;
}

// The zone of a link-local address, as it is written: without it, two networks of a machine would
// have paths of one name. An interface that is gone has its number left.
size_t print_zone(const sockaddr_in6 &address, char *buf, size_t size)
{
	if (!address.sin6_scope_id || !(ipv6_addr_type(&address.sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return 0;
	const RcuReader reading;
	const net_device *device = dev_get_by_index_rcu(&init_net, address.sin6_scope_id);
	if (!device)
		return scnprintf(buf, size, "%%%u", address.sin6_scope_id);
	return scnprintf(buf, size, "%%%.*s", IFNAMSIZ - 1, device->name);
}

} // namespace
} // namespace rtrs

CXXRT_FOR_C int rtrs_addr_parse_pair(const char *text, size_t len, u16 port, rtrs_addr_pair *pair)
{
	return rtrs::parse_pair(TextView(text, len), port, *pair).code();
}

CXXRT_FOR_C int rtrs_addr_parse_rule(const char *text, size_t len, rtrs_addr_rule *rule)
{
	const rtrs::Result<rtrs::AddressRule> parsed = rtrs::parse_rule(TextView(text, len));
	if (!parsed.ok())
		return parsed.code();
	__builtin_memcpy(rule->address, parsed->address.bytes, sizeof(rule->address));
	rule->bits = parsed->bits;
	return 0;
}

CXXRT_FOR_C size_t rtrs_addr_print(const sockaddr_storage *addr, char *buf, size_t size)
{
	switch (addr->ss_family) {
	case AF_IB:
		return scnprintf(buf, size, "gid:%pI6",
				 &reinterpret_cast<const sockaddr_ib *>(addr)->sib_addr.sib_raw);
	case AF_INET:
		return scnprintf(buf, size, "ip:%pI4",
				 &reinterpret_cast<const sockaddr_in *>(addr)->sin_addr);
	case AF_INET6: {
		const auto &address = reinterpret_cast<const sockaddr_in6 &>(*addr);
		const size_t n = scnprintf(buf, size, "ip:%pI6c", &address.sin6_addr);
		return n + rtrs::print_zone(address, buf + n, size - n);
	}
	}
	return scnprintf(buf, size, "<invalid address family>");
}

CXXRT_FOR_C size_t rtrs_addr_print_pair(const sockaddr_storage *src, const sockaddr_storage *dst,
					char *buf, size_t size)
{
	size_t n = rtrs_addr_print(src, buf, size);
	n += scnprintf(buf + n, size - n, "@");
	return n + rtrs_addr_print(dst, buf + n, size - n);
}
