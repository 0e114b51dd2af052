// SPDX-License-Identifier: GPL-2.0
// apply --prune: the end of what runs and is not configured.
#include "apply.hh"
#include "text.hh"

#include <cerrno>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

void check_for_prune(const Host &host, const Config &config)
{
	need_no_mistakes(config);
	if (config_files(host).empty())
		throw Failure(Exit::Config,
			      fmt::format("nothing is done: there is no {}, and --prune would end "
					  "all that runs",
					  kConfigFile),
			      "if that is meant: rnbdadm unmap --all; rnbdadm server export remove "
			      "--all");
}

Extra find_extra(const Call &call, const Config &config, bool devices, bool exports)
{
	Extra extra;
	if (devices)
		extra.devices = extra_of(read_devices(call.host), config);
	if (exports)
		extra.exports = extra_of(read_exports(call.host), config);
	const std::size_t all = extra.devices.size();
	if (!call.has(opt::kOthersToo))
		std::erase_if(extra.devices, [](const Device &d) { return d.owner.empty(); });
	if (const std::size_t spared = all - extra.devices.size())
		call.terminal.err << fmt::format(
		    "{} not mapped by this program and left alone; --others-too takes all\n",
		    spared);
	return extra;
}

namespace {

// What the kernel would answer, for --dry-run, which does not ask it.

void unmap_extra(Call &call, const Device &device, bool force)
{
	if (call.dry_run && !force && !users_of(device).empty())
		throw in_use(device);
	unmap_device(call, device, force);
}

void remove_extra(Call &call, const Export &e, bool force)
{
	if (call.dry_run && !force && e.users.value_or(0))
		throw Failure(Exit::Busy, fmt::format("cannot remove export {}: {}", e.name,
						      words_of(EBUSY, Action::Export)));
	remove_export(call, e.name);
}

} // namespace

Exit prune(Call &call, const Extra &extra, const Reporter &report)
{
	const bool force = call.has(opt::kForce);
	return call.each(extra.size(), [&](std::size_t i) {
		const std::size_t disks = extra.devices.size();
		const bool is_disk = i < disks;
		const char *kind = is_disk ? "device" : "export";
		const std::string &name =
		    is_disk ? extra.devices[i].name : extra.exports[i - disks].name;
		try {
			if (is_disk)
				unmap_extra(call, extra.devices[i], force);
			else
				remove_extra(call, extra.exports[i - disks], force);
			report(kind, name, is_disk ? "unmapped" : "removed");
		} catch (const Failure &) {
			report(kind, name, "failed");
			throw;
		}
	});
}

} // namespace rnbdadm
