// SPDX-License-Identifier: GPL-2.0
// The claim of an export's device: the kernel then keeps mounts, swap, LVM, md and mkfs of this
// machine away from it, and keeps an OPEN away from what these have.
//
// The table of exports is the holder, one for all exports and sessions. The claim is the open
// device's: a mapping has it until it closes the device, behind its flush, and the module ends all
// mappings before the table goes.
#include <cxxrt/block.hh>
#include <cxxrt/log.hh>
#include <rnbd/server/configured.hh>
#include <rnbd/server/local_users.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/session.hh>

namespace rnbd::server {

bool ExportUse::claims() const
{
	bool exclusive = true;
	configured_exports().locked([&] { exclusive = entry_.local_use_ == LocalUse::Exclusive; });
	return exclusive;
}

Result<BlockDevice> ExportUse::open(dev_t number, bool write, const Opener &opener)
{
	constexpr unsigned int kPauseMs = 100;
	constexpr u32 kPauses = 10;
	// One holder for all exports: several may lead to one device.
	ConfiguredExports &holder = configured_exports();
	if (!claims())
		return BlockDevice::open(number, write);
	for (u32 pauses = 0;; pauses++) {
		Result<BlockDevice> device = BlockDevice::open(number, write, &holder);
		if (device.ok() || !(device.error() == err::ebusy))
			return device;
		cxxrt::Box<LocalUsers> users = TRY(LocalUsers::find(number, holder));
		users->look_into_device();
		if (users->any() || pauses == kPauses) {
			log_warning_limited(
			    entry_.item_name(),
			    "Not opened for %s: the device is in use on this server: %s",
			    session_.name(),
			    users->any() ? users->text()
					 : "what no list of the kernel names has it exclusively");
			return err::ebusy;
		}
		// Times out, or the client has gone.
		if (session_.module()
			.exports()
			.wait_patiently([&] { return opener.given_up(); }, kPauseMs)
			.ok())
			return err::econnaborted;
	}
}

// Before it is enabled, by what is known without an open of the device, which may hang: configfs
// has the export locked. A device that is not there may come later; what comes between this and an
// OPEN is found by that.
Status ConfiguredExport::check_local_users()
{
	using Path = cxxrt::TextBuffer<kPathSize>;
	cxxrt::Box<Path> path = TRY(cxxrt::make_box<Path>(GFP_KERNEL));
	bool claims = false;
	configured_exports().locked([&] {
		claims = !enabled_ && local_use_ == LocalUse::Exclusive;
		path->assign(device_path_.view());
	});
	if (!claims || path->view().empty())
		return {};
	const Result<dev_t> number = cxxrt::block_device_at(path->c_str());
	if (!number.ok())
		return {};
	cxxrt::Box<LocalUsers> users = TRY(LocalUsers::find(number.value(), configured_exports()));
	if (!users->any())
		return {};
	log_warning(item_name(),
		    "Not enabled: %s is in use on this server: %s; local_use=shared allows it",
		    path->c_str(), users->text());
	return err::ebusy;
}

} // namespace rnbd::server
