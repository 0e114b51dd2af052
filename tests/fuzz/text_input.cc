// SPDX-License-Identifier: GPL-2.0
// What administrators write: map_device, addresses, policies, numbers, uuids of disks; and lines of
// mountinfo, which has their names. Input: the text.
#include "fuzz.hh"

#include <cxxrt/text.hh>
#include <rnbd/pure/device_path.hh>
#include <rnbd/pure/disk_identity.hh>
#include <rnbd/pure/local_use.hh>
#include <rnbd/pure/map_options.hh>
#include <rnbd/pure/names.hh>
#include <rtrs/pure/address.hh>
#include <rtrs/pure/listen_rules.hh>
#include <rtrs/pure/policy.hh>
#include <rtrs/pure/sysfs_text.hh>
#include <rtrs/wire/session_name.hh>

#include <memory>

using cxxrt::TextView;

namespace {

void options(TextView text)
{
	constexpr int kCpus = 8;
	auto question = std::make_unique<rnbd::MapOptions>();
	if (rnbd::parse_discover_options(text, *question).ok())
		MUST(!question->session.empty() && question->device_path.empty() &&
		     question->owner.empty());
	auto o = std::make_unique<rnbd::MapOptions>();
	if (!rnbd::parse_map_options(text, kCpus, *o).ok())
		return;
	MUST(!o->session.empty() && o->session.size() <= 254);
	MUST(!o->device_path.empty() && o->device_path.size() <= 254);
	MUST(o->path_count <= rnbd::kMaxMapPaths && o->poll_queues <= kCpus);
	MUST(o->no_path_timeout >= -1 && o->no_path_timeout <= rnbd::kMaxNoPathTimeout);
	for (std::size_t i = 0; i < o->path_count; i++)
		MUST(!o->paths[i].empty() && o->paths[i].find(' ') == o->paths[i].size());
	std::vector<char> name(rnbd::kLinkNameSize);
	cxxrt::TextWriter out(name.data(), name.size());
	MUST(rnbd::write_link_name(out, o->device_path, o->session).ok());
	MUST(out.text().find('/') == out.size());
}

void address(const rtrs::AddressText &a)
{
	MUST(a.literal.size() >= 2);
	MUST(a.literal.size() + 4 <= rtrs::kMaxAddressText + 1);
}

void path(TextView text)
{
	auto p = rtrs::parse_path(text);
	if (!p.ok()) {
		MUST(p.error() == rtrs::err::einval || p.error() == rtrs::err::eprotonosupport);
		return;
	}
	address(p->destination);
	if (p->has_source)
		address(p->source);
	MUST(text.size() <= rtrs::kMaxPathText + 2);
}

void where_to_listen(TextView text)
{
	auto rules = std::make_unique<rtrs::ListenRules>();
	const auto to_rule = [](TextView word) -> rtrs::Result<rtrs::AddressRule> {
		const auto parts = rtrs::split_address_rule(word);
		if (!parts.ok())
			return parts.error();
		MUST(!parts->address.empty() && parts->bits <= rtrs::kAddressBits);
		return rtrs::AddressRule{{}, parts->bits};
	};
	if (rules->parse(text, to_rule).ok())
		(void)rules->serves({}, "a");
}

void numbers(TextView text)
{
	if (auto n = cxxrt::parse_int(text, -1, 9999); n.ok())
		MUST(n.value() >= -1 && n.value() <= 9999);
	if (auto n = cxxrt::parse_u64(text); n.ok()) {
		std::vector<char> memory(32);
		cxxrt::TextWriter out(memory.data(), memory.size());
		out.put_unsigned(n.value());
		auto again = cxxrt::parse_u64(out.text());
		MUST(again.ok() && again.value() == n.value());
	}
	(void)cxxrt::parse_one(text).ok();
	(void)rtrs::parse_reset(text).ok();
	(void)rtrs::parse_reconnect_attempts(text).ok();
	(void)rtrs::parse_request_timeout(text).ok();
	(void)rnbd::parse_unmap_mode(text).ok();
	if (auto p = rtrs::parse_policy(text); p.ok())
		MUST(static_cast<unsigned>(p.value()) < rtrs::kPolicies);
}

void identity(TextView text)
{
	std::vector<char> memory(text.size() + 64);
	cxxrt::TextWriter map(memory.data(), memory.size());
	const bool is_one = rnbd::write_mapper_id(map, text);
	MUST(is_one == !map.text().empty() && !map.truncated());
	// Only a multipath map is another device than itself.
	MUST(!is_one || map.text().starts_with("dm.") || text.starts_with("mpath-"));
	cxxrt::TextWriter array(memory.data(), memory.size());
	MUST(rnbd::write_array_id(array, text) == !array.text().empty());
	cxxrt::TextWriter part(memory.data(), memory.size());
	if (rnbd::write_partition_id(part, text, {~0ull}))
		MUST(part.text().starts_with(rnbd::kPartition) && !part.truncated());
	const TextView value = rnbd::uevent_value(text, "DEVNAME");
	MUST(value.find('\n') == value.size());
	(void)rnbd::kind_of_disk(text);
}

void local_use(TextView text)
{
	if (auto use = rnbd::parse_local_use(text); use.ok())
		MUST(text == TextView::of(rnbd::to_text(use.value())));
	if (auto number = rnbd::parse_device_number(text); number.ok())
		MUST(number->major <= 0x7fffffff && number->minor <= 0x7fffffff);
	if (auto mount = rnbd::parse_mount(text); mount.ok())
		MUST(!mount->point.empty() && !mount->source.empty() &&
		     mount->point.data() < mount->source.data());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const std::string s = Input(data, size).text();
	const TextView text(s.data(), s.size());
	options(text);
	path(text);
	where_to_listen(text);
	numbers(text);
	identity(text);
	local_use(text);

	std::size_t comma = text.find(',');
	std::vector<char> memory(rnbd::kPathSize);
	cxxrt::TextWriter out(memory.data(), memory.size());
	if (rnbd::write_device_path(out, text.first(comma), "session", text.skip(comma + 1)).ok())
		MUST(std::string(memory.data()).find("//") == std::string::npos);
	if (auto p = rnbd::parse_search_path(text); p.ok())
		MUST(!p->empty() && p->size() < rnbd::kPathSize);
	if (auto n = rtrs::SessionName::from(text); n.ok())
		MUST(n->view() == text);
	return 0;
}
