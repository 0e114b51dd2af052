// SPDX-License-Identifier: GPL-2.0
// Counting paths, by host and in all.
#include <cxxrt/log.hh>
#include <rtrs/server/addresses.hh>
#include <rtrs/server/admission.hh>
#include <rtrs/server/module.hh>

using namespace cxxrt;

namespace rtrs::server {

Status refuse_over(Quota quota)
{
	if (quota == Quota::Fits)
		return {};
	log_warning_limited("admission", "a limit is reached: %s", to_text(quota));
	// What ends by itself within seconds, or what an administrator has to change.
	switch (quota) {
	case Quota::HalfOpen:
		return err::ebusy;
	case Quota::PinnedMemory:
		return err::enomem;
	default:
		return err::eusers;
	}
}

Status Admission::enter(Admitted &entry)
{
	return entries_.with([&](auto &entries) -> Status {
		PathLoad load;
		for (const Admitted &e : entries) {
			const bool same = same_host(e.peer, entry.peer);
			load.all.add(e.connections);
			if (same)
				load.of_host.add(e.connections);
			if (!e.half_open)
				continue;
			load.half_open.add(e.connections);
			if (same)
				load.half_open_of_host.add(e.connections);
		}
		TRY(refuse_over(
		    check_path_quota(load, entry.connections, module_->limits.paths())));
		entries.push_back(entry);
		return {};
	});
}

void Admission::handshake_over(Admitted &entry)
{
	entries_.with([&](auto &) { entry.half_open = false; });
}

void Admission::leave(Admitted &entry)
{
	entries_.with([&](auto &entries) {
		if (entry.node.linked())
			entries.remove(entry);
	});
}

} // namespace rtrs::server
