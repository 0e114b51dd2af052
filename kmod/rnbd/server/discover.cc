// SPDX-License-Identifier: GPL-2.0
// DISCOVER (protocol D.5): the exports that a session may open. It opens none of them: what it
// tells of a device is what sysfs says, so that one that hangs holds up no answer.
#include <cxxrt/block.hh>
#include <cxxrt/memory.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/sysfs_folder.hh>
#include <rnbd/wire/discover.hh>

namespace rnbd::server {

namespace {

void look_at(dev_t device, DiscoveredExport &e)
{
	char text[SysfsFolder::kLongest];
	const SysfsFolder folder{device};
	Result<u64> sectors = cxxrt::parse_u64(folder.read("size", text));
	e.no_device = !sectors.ok() || *sectors > kMaxCapacitySectors;
	e.capacity = {e.no_device ? 0 : *sectors};
	if (folder.read("ro", text) == TextView("1"))
		e.access = AccessMode::ReadOnly;
}

} // namespace

DiscoveredExport Session::describe(const ConfiguredExports::Seen &seen) const
{
	DiscoveredExport e{.number = seen.number,
			   .access = most_that_it_knows(READ_ONCE(features_), seen.access),
			   .no_device = true,
			   .openers = {},
			   .capacity = {}};
	Result<dev_t> device = cxxrt::block_device_at(seen.device_path.c_str());
	if (!device.ok())
		return e;
	look_at(*device, e);
	e.openers = module_.exports().openers(*device, *this);
	return e;
}

Result<u32> Session::handle_discover(const rtrs_srv_request &request)
{
	const u32 first = TRY(parse_discover(message_of(request), transfer_of(request)));
	auto seen = TRY(cxxrt::make_box<ConfiguredExports::Seen>(GFP_KERNEL));
	ConfiguredExports &configured = module_.configured();
	u8 *const answer = static_cast<u8 *>(request.data);
	u32 size = sizeof(DiscoverResponse);
	u32 count = 0;
	u32 next = first;
	// Numbers begin with 1, so one that ends the list is never reached.
	while (count < kMaxDiscoverEntries && configured.see(*this, next, *seen)) {
		const DiscoverEntry entry = make_discover_entry(describe(*seen), seen->name.view());
		__builtin_memcpy(answer + size, &entry, sizeof(entry));
		size += sizeof(entry);
		count++;
		next = seen->number + 1;
	}
	if (count < kMaxDiscoverEntries)
		next = kNoMoreExports;
	put_answer(request, make_discover_response(count, next, configured.paths_too()));
	return size;
}

} // namespace rnbd::server
